// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tinkaf::train {

/// Writes one flat JSON object on one line, fields in the order in which they are added.
class JsonWriter {
public:
  JsonWriter();
  ~JsonWriter();
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;

  /// Bytes that are not UTF-8 are replaced.
  void add(std::string_view name, std::string_view value);
  void add(std::string_view name, const char* value) {
    add(name, std::string_view{value});
  }
  void add(std::string_view name, std::int64_t value);

  /// The shortest digits that give the same number again; null if it is not finite.
  void add(std::string_view name, double value);
  void add(std::string_view name, bool value);
  void add(std::string_view name, std::span<const std::int32_t> values);
  void add(std::string_view name, std::span<const float> values);

  /// The object. Call once, at the end.
  [[nodiscard]] std::string take();

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace tinkaf::train
