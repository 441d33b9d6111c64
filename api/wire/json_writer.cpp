// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json_writer.hpp"

#include "api/wire/utf8.hpp"

#include <fmt/format.h>

#include <cmath>

namespace tinkaf::wire {

void JsonWriter::value(double x) {
  if (std::isfinite(x)) {
    writer_.Double(x);
    return;
  }
  refuse(fmt::format("is {}, which JSON cannot hold", x));
  writer_.Null();
}

void JsonWriter::refuse(std::string_view what) {
  if (!refusal_)
    refusal_ = fmt::format("{} {}", path_.str(), what);
}

Result<std::string> JsonWriter::finish(std::string_view what) const {
  if (refusal_)
    return fail(Errc::invalid_argument, fmt::format("{}: {}", what, *refusal_));
  return text();
}

void JsonWriter::raw(std::string_view name, std::string_view json) {
  key(name);
  writer_.RawValue(json.data(), json.size(), rapidjson::kObjectType);
}

void JsonWriter::key(std::string_view name) {
  if (is_utf8(name)) {
    writer_.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
    return;
  }
  if (bad_text_ == BadText::refuse)
    refuse("has a name that is not UTF-8");
  auto readable = replace_invalid_utf8(name);
  writer_.Key(readable.data(), static_cast<rapidjson::SizeType>(readable.size()));
}

void JsonWriter::string(std::string_view text) {
  if (text.empty()) {
    writer_.String("", 0);
    return;
  }
  if (is_utf8(text)) {
    writer_.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
    return;
  }
  if (bad_text_ == BadText::refuse)
    refuse("is not UTF-8 text");
  auto readable = replace_invalid_utf8(text);
  writer_.String(readable.data(), static_cast<rapidjson::SizeType>(readable.size()));
}

} // namespace tinkaf::wire
