// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/wire/json_path.hpp"
#include "messages/error.hpp"

#include <rapidjson/document.h>

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

/// Parses text that is not trusted: depth is limited, and only well-formed UTF-8 is taken.
/// @returns an error of kind `code` that begins with `what` and says where the text is wrong
[[nodiscard]] Result<rapidjson::Document> parse_json(std::string_view json, std::string_view what,
                                                     Errc code);

/// The member of that name, or nullptr if it is missing or null.
/// @pre `object` is an object
[[nodiscard]] const rapidjson::Value* find_member(const rapidjson::Value& object,
                                                  std::string_view name) noexcept;

/// The text of a string value.
[[nodiscard]] inline std::string_view text_of(const rapidjson::Value& value) noexcept {
  return {value.GetString(), value.GetStringLength()};
}

/// The value as compact JSON.
[[nodiscard]] std::string dump(const rapidjson::Value& value);

/// Reads one JSON body and remembers the first value that is not as it should be.
///
/// Reading goes on after a failure with values left as they were; `error()` tells in the end.
class JsonReader {
public:
  static constexpr bool writing = false;

  explicit JsonReader(const rapidjson::Value& body) : current_(&body) {}

  /// A field that has to be there.
  template <class T>
  void field(std::string_view name, T& x) {
    if (const auto* found = member(name))
      within(name, *found, [&] { value(x); });
    else
      miss(name);
  }

  /// Missing or null leaves `x` as it is.
  template <class T>
  void defaulted(std::string_view name, T& x) {
    if (const auto* found = member(name))
      within(name, *found, [&] { value(x); });
  }

  template <class T>
  void optional(std::string_view name, std::optional<T>& x) {
    if (const auto* found = member(name))
      within(name, *found, [&] { value(x.emplace()); });
  }

  template <class T>
  void unless_empty(std::string_view name, T& x) {
    defaulted(name, x);
  }

  /// May be missing, but must not be another text.
  void literal(std::string_view name, std::string_view text);

  /// An object that has to be there, read by `body(reader)`.
  template <class Body>
  void object(std::string_view name, Body body) {
    const auto* found = member(name);
    if (found == nullptr) {
      miss(name);
      return;
    }
    within(name, *found, [&] {
      if (is_object())
        body(*this);
    });
  }

  void value(bool& x);
  void value(std::int32_t& x);
  void value(std::int64_t& x);
  void value(double& x);
  void value(float& x);
  void value(std::string& x);

  template <class T>
  void value(std::vector<T>& x) {
    if (!current_->IsArray()) {
      expected("an array");
      return;
    }
    const auto& array = *current_;
    x.clear();
    x.reserve(array.Size());
    for (rapidjson::SizeType i = 0; i < array.Size() && !error_; ++i) {
      path_.push(std::size_t{i});
      current_ = &array[i];
      value(x.emplace_back());
      path_.pop();
    }
    current_ = &array;
  }

  template <class T>
  void value(std::map<std::string, T>& x) {
    if (!is_object())
      return;
    const auto& object = *current_;
    x.clear();
    for (const auto& member : object.GetObject()) {
      auto name = text_of(member.name);
      within(name, member.value, [&] { value(x[std::string{name}]); });
    }
  }

  template <class T>
  void value(std::optional<T>& x) {
    if (current_->IsNull())
      x.reset();
    else
      value(x.emplace());
  }

  template <class A, class B>
  void value(std::pair<A, B>& x) {
    if (!current_->IsArray() || current_->Size() != 2) {
      expected("an array of two");
      return;
    }
    const auto& pair = *current_;
    at(pair, 0, [&] { value(x.first); });
    at(pair, 1, [&] { value(x.second); });
  }

  template <class T>
  requires std::is_class_v<T>
  void value(T& x) {
    if (is_object())
      describe(*this, x);
  }

  /// The value at hand.
  [[nodiscard]] const rapidjson::Value& current() const noexcept {
    return *current_;
  }

  /// The member of the object at hand, or nullptr if it is missing or null.
  [[nodiscard]] const rapidjson::Value* member(std::string_view name) const noexcept {
    return find_member(*current_, name);
  }

  /// Notes that the value at hand is not `what`, for example "an integer".
  void expected(std::string_view what);

  /// Notes that a required field is missing.
  void miss(std::string_view name);

  /// Notes what is wrong with the value at hand; `what` continues the sentence "`path` …".
  void refuse(std::string_view what);

  /// Runs `body` with `found`, a member of the value at hand, as the value at hand.
  template <class Body>
  void within(std::string_view name, const rapidjson::Value& found, Body body) {
    path_.push(name);
    const auto* outer = std::exchange(current_, &found);
    body();
    current_ = outer;
    path_.pop();
  }

  /// Runs `body` with an entry of an array, the value at hand, as the value at hand.
  template <class Body>
  void at(const rapidjson::Value& array, rapidjson::SizeType index, Body body) {
    path_.push(std::size_t{index});
    const auto* outer = std::exchange(current_, &array[index]);
    body();
    current_ = outer;
    path_.pop();
  }

  /// The first thing that is wrong: "`path` …".
  [[nodiscard]] const std::optional<std::string>& error() const noexcept {
    return error_;
  }

private:
  [[nodiscard]] bool is_object();

  const rapidjson::Value* current_;
  JsonPath path_;
  std::optional<std::string> error_;
};

/// Reads a value of type `T` from parsed JSON; `what` and `code` as in `parse_json`.
template <class T>
[[nodiscard]] Result<T> read_json(const rapidjson::Value& body, std::string_view what, Errc code) {
  JsonReader reader{body};
  T out{};
  reader.value(out);
  if (reader.error())
    return fail(code, std::string{what} + ": " + *reader.error());
  return out;
}

/// Reads a value of type `T` from text.
template <class T>
[[nodiscard]] Result<T> read_json(std::string_view json, std::string_view what, Errc code) {
  auto body = parse_json(json, what, code);
  if (!body)
    return fail(std::move(body.error()));
  return read_json<T>(*body, what, code);
}

} // namespace tinkaf::wire
