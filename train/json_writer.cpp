// SPDX-License-Identifier: Apache-2.0
#include "train/json_writer.hpp"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cmath>
#include <cstddef>

namespace tinkaf::train {

namespace {

/// Length of the character that begins `text`, or 0 if its bytes are not UTF-8.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const auto first = byte(0);
  if (first < 0x80)
    return 1;
  const std::size_t length = first >= 0xC2 && first <= 0xDF   ? 2
                             : first >= 0xE0 && first <= 0xEF ? 3
                             : first >= 0xF0 && first <= 0xF4 ? 4
                                                              : 0;
  if (length == 0 || text.size() < length)
    return 0;
  for (std::size_t at = 1; at < length; ++at)
    if ((byte(at) & 0xC0U) != 0x80)
      return 0;
  // Overlong forms, surrogates, and what lies beyond U+10FFFF.
  const auto second = byte(1);
  const auto bad = (first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F)
                   || (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F);
  return bad ? 0 : length;
}

std::string to_utf8(std::string_view bytes) {
  auto result = std::string{};
  result.reserve(bytes.size());
  while (!bytes.empty()) {
    const auto length = character_length(bytes);
    if (length == 0)
      result += "\xEF\xBF\xBD";
    else
      result += bytes.substr(0, length);
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

} // namespace

struct JsonWriter::Impl {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer{buffer};

  void text(std::string_view value) {
    const auto clean = to_utf8(value);
    writer.String(clean.data(), static_cast<rapidjson::SizeType>(clean.size()));
  }

  /// RapidJSON's own digits are not always the shortest.
  template <class T>
  void number(T value) {
    if (!std::isfinite(value)) {
      writer.Null();
      return;
    }
    const auto digits = fmt::format("{}", value);
    writer.RawValue(digits.data(), digits.size(), rapidjson::kNumberType);
  }
};

JsonWriter::JsonWriter() : impl_(std::make_unique<Impl>()) {
  impl_->writer.StartObject();
}

JsonWriter::~JsonWriter() = default;

void JsonWriter::add(std::string_view name, std::string_view value) {
  impl_->text(name);
  impl_->text(value);
}

void JsonWriter::add(std::string_view name, std::int64_t value) {
  impl_->text(name);
  impl_->writer.Int64(value);
}

void JsonWriter::add(std::string_view name, double value) {
  impl_->text(name);
  impl_->number(value);
}

void JsonWriter::add(std::string_view name, bool value) {
  impl_->text(name);
  impl_->writer.Bool(value);
}

void JsonWriter::add(std::string_view name, std::span<const std::int32_t> values) {
  impl_->text(name);
  impl_->writer.StartArray();
  for (const auto value : values)
    impl_->writer.Int(value);
  impl_->writer.EndArray();
}

void JsonWriter::add(std::string_view name, std::span<const float> values) {
  impl_->text(name);
  impl_->writer.StartArray();
  for (const auto value : values)
    impl_->number(value);
  impl_->writer.EndArray();
}

std::string JsonWriter::take() {
  impl_->writer.EndObject();
  return {impl_->buffer.GetString(), impl_->buffer.GetSize()};
}

} // namespace tinkaf::train
