// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <rapidjson/document.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tinkaf::model {

/// A JSON object from a file, read field by field. The first fault is kept; after it every read
/// gives a harmless value, so that callers check once at the end.
class JsonFields {
public:
  /// @returns `Errc::io_error`, or `Errc::invalid_argument` if the file is no JSON object
  [[nodiscard]] static Result<JsonFields> read(const std::filesystem::path& file);

  /// Whether there is no field at all.
  bool empty() const;

  /// Whether the field is there and not null.
  bool present(const char* name) const;

  /// An integer in [lowest, highest]; a missing one is a fault unless there is another value.
  std::int64_t integer(const char* name, std::int64_t lowest, std::int64_t highest,
                       std::optional<std::int64_t> otherwise = {});

  /// A finite number.
  double number(const char* name, double otherwise);

  /// False if missing.
  bool flag(const char* name);

  /// Empty if missing.
  std::string text(const char* name);

  /// The strings of a list; a missing list is a fault.
  std::vector<std::string> texts(const char* name);

  /// An integer or a list of integers, each in [lowest, highest]; empty if missing.
  std::vector<std::int64_t> integers(const char* name, std::int64_t lowest, std::int64_t highest);

  /// An object inside this one; a field that is no object is a fault. Give it back to
  /// `take_fault` when it has been read.
  JsonFields object(const char* name);
  void take_fault(const JsonFields& part);

  /// The members of an object inside this one whose values are strings, by name.
  std::map<std::string, std::string> strings(const char* name);

  /// Records a fault of a field: "file: name: what".
  void bad(std::string_view name, std::string_view what);

  /// The first fault, if there was one.
  [[nodiscard]] Result<void> check() const;

private:
  const rapidjson::Value* find(const char* name) const;

  rapidjson::Document document_;
  std::string file_;
  std::optional<std::string> fault_;
};

} // namespace tinkaf::model
