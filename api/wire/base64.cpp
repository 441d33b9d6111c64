// SPDX-License-Identifier: Apache-2.0
#include "api/wire/base64.hpp"

#include <array>
#include <cstdint>

namespace tinkaf::wire {

namespace {

constexpr std::string_view alphabet
    = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t not_a_digit = 0xFF;

constexpr auto digits = [] {
  std::array<std::uint8_t, 256> table{};
  table.fill(not_a_digit);
  for (std::size_t i = 0; i < alphabet.size(); ++i)
    table[static_cast<std::uint8_t>(alphabet[i])] = static_cast<std::uint8_t>(i);
  return table;
}();

} // namespace

std::string to_base64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    auto group = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (k < group.size() ? static_cast<std::uint8_t>(group[k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      out += k <= group.size() ? alphabet[bits >> (18 - 6 * k) & 0x3F] : '=';
  }
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0)
    return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && text.size() > padding && text[text.size() - 1 - padding] == '=')
    ++padding;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  for (std::size_t i = 0; i < text.size(); i += 4) {
    auto real = i + 4 == text.size() ? 4 - padding : 4;
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      auto digit = k < real ? digits[static_cast<std::uint8_t>(text[i + k])] : std::uint8_t{0};
      if (digit == not_a_digit)
        return std::nullopt;
      bits = bits << 6 | digit;
    }
    for (std::size_t k = 0; k + 1 < real; ++k)
      out += static_cast<char>(bits >> (16 - 8 * k) & 0xFF);
  }
  return out;
}

} // namespace tinkaf::wire
