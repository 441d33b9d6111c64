// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/wire/json_path.hpp"
#include "messages/error.hpp"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tinkaf::wire {

/// What to do about text that is not UTF-8: make it readable, or refuse the value.
enum class BadText : std::uint8_t { replace, refuse };

/// Writes one JSON body and remembers the first value that JSON cannot hold.
///
/// `describe(writer, value)` is the counterpart of `describe(reader, value)`: one description of a
/// type serves both.
class JsonWriter {
public:
  static constexpr bool writing = true;

  explicit JsonWriter(BadText bad_text) : bad_text_(bad_text) {}

  /// A field that is always there.
  template <class T>
  void field(std::string_view name, const T& x) {
    path_.push(name);
    key(name);
    value(x);
    path_.pop();
  }

  /// A field that readers may miss; written even so.
  template <class T>
  void defaulted(std::string_view name, const T& x) {
    field(name, x);
  }

  /// Left out if absent.
  template <class T>
  void optional(std::string_view name, const std::optional<T>& x) {
    if (x)
      field(name, *x);
  }

  /// Left out if empty.
  template <class T>
  void unless_empty(std::string_view name, const T& x) {
    if (!x.empty())
      field(name, x);
  }

  /// A field with one allowed value.
  void literal(std::string_view name, std::string_view text) {
    key(name);
    string(text);
  }

  /// An array of what `range` holds.
  template <class Range>
  void list(std::string_view name, const Range& range) {
    path_.push(name);
    key(name);
    array(range);
    path_.pop();
  }

  /// An object of its own, filled by `body(writer)`.
  template <class Body>
  void object(std::string_view name, Body body) {
    path_.push(name);
    key(name);
    writer_.StartObject();
    body(*this);
    writer_.EndObject();
    path_.pop();
  }

  void value(bool x) {
    writer_.Bool(x);
  }
  void value(std::int32_t x) {
    writer_.Int(x);
  }
  void value(std::int64_t x) {
    writer_.Int64(x);
  }
  void value(double x);
  void value(const std::string& x) {
    string(x);
  }

  template <class T>
  void value(const std::vector<T>& x) {
    array(x);
  }

  template <class T>
  void value(const std::map<std::string, T>& x) {
    writer_.StartObject();
    for (const auto& [name, entry] : x)
      field(name, entry);
    writer_.EndObject();
  }

  template <class T>
  void value(const std::optional<T>& x) {
    if (x)
      value(*x);
    else
      writer_.Null();
  }

  template <class A, class B>
  void value(const std::pair<A, B>& x) {
    writer_.StartArray();
    value(x.first);
    value(x.second);
    writer_.EndArray();
  }

  template <class T>
  requires std::is_class_v<T>
  void value(const T& x) {
    writer_.StartObject();
    describe(*this, x);
    writer_.EndObject();
  }

  /// A field whose value is JSON already.
  void raw(std::string_view name, std::string_view json);

  /// Notes that the value at hand cannot be written; `what` continues the sentence "`path` …".
  void refuse(std::string_view what);

  /// The body, whatever was refused.
  [[nodiscard]] std::string text() const {
    return {buffer_.GetString(), buffer_.GetSize()};
  }

  /// The body, or the first refusal: "`what`: `path` …".
  [[nodiscard]] Result<std::string> finish(std::string_view what) const;

private:
  template <class Range>
  void array(const Range& range) {
    writer_.StartArray();
    std::size_t i = 0;
    for (const auto& entry : range) {
      path_.push(i++);
      value(entry);
      path_.pop();
    }
    writer_.EndArray();
  }

  /// Numbers need a path only if one is refused.
  template <class T>
  requires std::is_arithmetic_v<T>
  void array(const std::vector<T>& numbers) {
    writer_.StartArray();
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (std::isfinite(static_cast<double>(numbers[i]))) {
        number(numbers[i]);
      } else {
        path_.push(i);
        value(numbers[i]);
        path_.pop();
      }
    writer_.EndArray();
  }

  void number(std::int32_t x) {
    writer_.Int(x);
  }
  void number(std::int64_t x) {
    writer_.Int64(x);
  }
  void number(double x) {
    writer_.Double(x);
  }

  void key(std::string_view name);
  void string(std::string_view text);

  rapidjson::StringBuffer buffer_;
  rapidjson::Writer<rapidjson::StringBuffer> writer_{buffer_};
  BadText bad_text_;
  JsonPath path_;
  std::optional<std::string> refusal_;
};

/// Writes a type that every value can be written of.
template <class T>
[[nodiscard]] std::string write_json(const T& x) {
  JsonWriter writer{BadText::replace};
  writer.value(x);
  return writer.text();
}

/// Writes a type with numbers or texts that JSON may not hold; `what` names the body.
template <class T>
[[nodiscard]] Result<std::string> write_json(const T& x, std::string_view what) {
  JsonWriter writer{BadText::refuse};
  writer.value(x);
  return writer.finish(what);
}

} // namespace tinkaf::wire
