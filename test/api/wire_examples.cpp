// SPDX-License-Identifier: Apache-2.0
#include "test/api/wire_examples.hpp"

#include "test/catch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

namespace tinkaf::test {

namespace {

const std::filesystem::path folder = std::filesystem::path{TINKAF_TEST_DATA} / "wire-examples";

} // namespace

std::string example(std::string_view name) {
  std::ifstream file{folder / name};
  REQUIRE(file);
  return {std::istreambuf_iterator<char>{file}, {}};
}

rapidjson::Document parse(std::string_view json) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseFullPrecisionFlag>(json.data(), json.size());
  INFO(json);
  REQUIRE_FALSE(document.HasParseError());
  return document;
}

rapidjson::Document example_json(std::string_view name) {
  return parse(example(name));
}

std::vector<std::string> example_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator{folder})
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string canonical(const rapidjson::Value& value) {
  std::string out;
  if (value.IsObject()) {
    std::map<std::string, std::string> fields;
    for (const auto& member : value.GetObject())
      if (!member.value.IsNull())
        fields[member.name.GetString()] = canonical(member.value);
    for (const auto& [name, text] : fields)
      out += (out.empty() ? "" : ",") + name + ":" + text;
    return "{" + out + "}";
  }
  if (value.IsArray()) {
    for (const auto& entry : value.GetArray())
      out += (out.empty() ? "" : ",") + canonical(entry);
    return "[" + out + "]";
  }
  if (value.IsString())
    return fmt::format("\"{}\"", value.GetString());
  if (value.IsBool())
    return value.GetBool() ? "true" : "false";
  if (value.IsNull())
    return "null";
  return value.IsInt64() ? fmt::format("{}", value.GetInt64())
                         : fmt::format("{:.9g}", value.GetDouble());
}

std::string canonical(std::string_view json) {
  return canonical(parse(json));
}

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string{hex.substr(i, 2)}, nullptr, 16));
  return bytes;
}

std::string to_hex(std::string_view bytes) {
  std::string hex;
  for (auto byte : bytes)
    hex += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return hex;
}

} // namespace tinkaf::test
