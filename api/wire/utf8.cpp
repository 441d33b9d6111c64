// SPDX-License-Identifier: Apache-2.0
#include "api/wire/utf8.hpp"

#include <cstdint>

namespace tinkaf::wire {

namespace {

/// Length of the well-formed character at the start of `text`; 0 if there is none.
std::size_t character_length(std::string_view text) noexcept {
  auto byte = [text](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  auto first = byte(0);
  if (first < 0x80)
    return 1;
  // The second byte's range excludes overlong forms, surrogates and what lies above U+10FFFF.
  std::size_t length = 0;
  std::uint8_t low = 0x80;
  std::uint8_t high = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    low = first == 0xE0 ? 0xA0 : 0x80;
    high = first == 0xED ? 0x9F : 0xBF;
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    low = first == 0xF0 ? 0x90 : 0x80;
    high = first == 0xF4 ? 0x8F : 0xBF;
  } else {
    return 0;
  }
  if (text.size() < length || byte(1) < low || byte(1) > high)
    return 0;
  for (std::size_t i = 2; i < length; ++i)
    if (byte(i) < 0x80 || byte(i) > 0xBF)
      return 0;
  return length;
}

} // namespace

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    auto length = character_length(text);
    if (length == 0)
      return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    auto length = character_length(text);
    if (length == 0) {
      out += "\xEF\xBF\xBD";
      length = 1;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string excerpt(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes)
    return std::string{text};
  auto end = max_bytes;
  while (end > 0 && (static_cast<std::uint8_t>(text[end]) & 0xC0) == 0x80)
    --end;
  return std::string{text.substr(0, end)} + "...";
}

} // namespace tinkaf::wire
