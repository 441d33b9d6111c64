// SPDX-License-Identifier: Apache-2.0
#include "messages/visible_text.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tinkaf {

namespace {

struct Character {
  char32_t code = 0;
  std::size_t bytes = 0;
};

std::uint8_t byte_at(std::string_view text, std::size_t i) {
  return static_cast<std::uint8_t>(text[i]);
}

/// The character at the beginning; nothing if there is none. Table 3-7 of the Unicode Standard.
std::optional<Character> first_character(std::string_view text) {
  auto lead = byte_at(text, 0);
  if (lead < 0x80)
    return Character{lead, 1};
  std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < bytes)
    return std::nullopt;
  char32_t code = lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte_at(text, i) & 0xC0U) != 0x80)
      return std::nullopt;
    code = (code << 6U) | (byte_at(text, i) & 0x3FU);
  }
  auto overlong = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  auto surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (overlong || surrogate || code > 0x10FFFF)
    return std::nullopt;
  return Character{code, bytes};
}

/// Moves the cursor, ends a line, or turns the direction of what follows.
bool acts(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code <= 0x9F) || code == 0x200E || code == 0x200F
         || (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069)
         || code == 0xFEFF;
}

std::string escape(char32_t code) {
  switch (code) {
  case '\n':
    return "\\n";
  case '\r':
    return "\\r";
  case '\t':
    return "\\t";
  default:
    return code < 0x80 ? fmt::format("\\x{:02x}", static_cast<unsigned>(code))
                       : fmt::format("\\u{{{:x}}}", static_cast<unsigned>(code));
  }
}

} // namespace

std::string visible(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    auto next = first_character(text);
    if (!next)
      result += fmt::format("\\x{:02x}", byte_at(text, 0));
    else if (acts(next->code))
      result += escape(next->code);
    else
      result += text.substr(0, next->bytes);
    text.remove_prefix(next ? next->bytes : 1);
  }
  return result;
}

} // namespace tinkaf
