// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json_reader.hpp"

#include "api/wire/json_parse.hpp"
#include "api/wire/utf8.hpp"

#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tinkaf::wire {

namespace {

/// Deeper than any body of the API; also bounds what recursion over a document can take.
constexpr std::size_t max_depth = 64;

/// Brackets and braces that are open at once, at most; texts are skipped.
std::size_t depth_of(std::string_view json) noexcept {
  std::size_t depth = 0;
  std::size_t deepest = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    auto c = json[i];
    if (in_text) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_text = false;
    } else if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return deepest;
}

std::string describe_kind(const rapidjson::Value& value) {
  if (value.IsNull())
    return "null";
  if (value.IsBool())
    return value.GetBool() ? "true" : "false";
  if (value.IsNumber())
    return dump(value);
  if (value.IsString())
    return "a string";
  return value.IsArray() ? "an array" : "an object";
}

} // namespace

Result<rapidjson::Document> parse_json(std::string_view json, std::string_view what, Errc code) {
  if (json.empty())
    return fail(code, fmt::format("{}: the body is empty", what));
  if (auto at = json.find('\0'); at != std::string_view::npos)
    return fail(code, fmt::format("{}: the body has a zero byte at {}", what, at));
  if (depth_of(json) > max_depth)
    return fail(code, fmt::format("{}: the body is nested deeper than {}", what, max_depth));
  auto document = parse_document(json);
  if (!document)
    return fail(code, fmt::format("{}: the body is not JSON (byte {}: {})", what,
                                  document.error().Offset(),
                                  rapidjson::GetParseError_En(document.error().Code())));
  return std::move(*document);
}

const rapidjson::Value* find_member(const rapidjson::Value& object,
                                    std::string_view name) noexcept {
  for (const auto& member : object.GetObject())
    if (text_of(member.name) == name)
      return member.value.IsNull() ? nullptr : &member.value;
  return nullptr;
}

std::string dump(const rapidjson::Value& value) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer{buffer};
  value.Accept(writer);
  return {buffer.GetString(), buffer.GetSize()};
}

void JsonReader::literal(std::string_view name, std::string_view text) {
  const auto* found = member(name);
  if (found == nullptr)
    return;
  within(name, *found, [&] {
    if (!found->IsString())
      expected(fmt::format(R"("{}")", text));
    else if (text_of(*found) != text)
      refuse(fmt::format(R"(must be "{}", got "{}")", text, excerpt(text_of(*found), 40)));
  });
}

void JsonReader::value(bool& x) {
  if (current_->IsBool())
    x = current_->GetBool();
  else
    expected("true or false");
}

void JsonReader::value(std::int32_t& x) {
  if (current_->IsInt())
    x = current_->GetInt();
  else
    expected("an integer of 32 bits");
}

void JsonReader::value(std::int64_t& x) {
  if (current_->IsInt64())
    x = current_->GetInt64();
  else
    expected("an integer");
}

void JsonReader::value(double& x) {
  if (current_->IsNumber())
    x = current_->GetDouble();
  else
    expected("a number");
}

void JsonReader::value(float& x) {
  if (!current_->IsNumber()) {
    expected("a number");
    return;
  }
  auto number = current_->GetDouble();
  if (std::abs(number) > static_cast<double>(std::numeric_limits<float>::max()))
    refuse(fmt::format("is {}, beyond what a float32 can hold", number));
  else
    x = static_cast<float>(number);
}

void JsonReader::value(std::string& x) {
  if (current_->IsString())
    x = text_of(*current_);
  else
    expected("a string");
}

void JsonReader::expected(std::string_view what) {
  refuse(fmt::format("must be {}, got {}", what, describe_kind(*current_)));
}

void JsonReader::miss(std::string_view name) {
  path_.push(name);
  refuse("is missing");
  path_.pop();
}

void JsonReader::refuse(std::string_view what) {
  if (!error_)
    error_ = fmt::format("{} {}", path_.str(), what);
}

bool JsonReader::is_object() {
  if (!current_->IsObject())
    expected("an object");
  return current_->IsObject();
}

} // namespace tinkaf::wire
