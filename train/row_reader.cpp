// SPDX-License-Identifier: Apache-2.0
#include "train/row_reader.hpp"

#include <rapidjson/document.h>

#include <limits>

namespace tinkaf::train {

namespace {

using Json = rapidjson::Document;

/// Reads an object and hands it on.
template <class T, class Read>
Result<T> with_object(const std::string& row, Read read) {
  auto json = Json{};
  json.Parse(row.data(), row.size());
  if (json.HasParseError() || !json.IsObject())
    return fail(Errc::io_error, "the journal holds a row that is no JSON object: " + row);
  return read(json);
}

std::string text(const Json& json, const char* name) {
  const auto found = json.FindMember(name);
  if (found == json.MemberEnd() || !found->value.IsString())
    return {};
  return {found->value.GetString(), found->value.GetStringLength()};
}

std::size_t count(const Json& json, const char* name) {
  const auto found = json.FindMember(name);
  return found != json.MemberEnd() && found->value.IsUint64() ? found->value.GetUint64() : 0;
}

} // namespace

Result<double> read_number(const std::string& row, const std::string& name) {
  return with_object<double>(row, [&](const Json& json) {
    const auto found = json.FindMember(name.c_str());
    return found != json.MemberEnd() && found->value.IsNumber()
               ? found->value.GetDouble()
               : std::numeric_limits<double>::quiet_NaN();
  });
}

Result<CheckpointRow> read_checkpoint_row(const std::string& row) {
  return with_object<CheckpointRow>(row, [](const Json& json) {
    const auto final = json.FindMember("final");
    return CheckpointRow{.name = text(json, "name"),
                         .batch = count(json, "batch"),
                         .epoch = count(json, "epoch"),
                         .final = final != json.MemberEnd() && final->value.IsTrue(),
                         .state_path = text(json, "state_path"),
                         .sampler_path = text(json, "sampler_path")};
  });
}

} // namespace tinkaf::train
