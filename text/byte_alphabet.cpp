// SPDX-License-Identifier: Apache-2.0
#include "text/byte_alphabet.hpp"

#include <array>

namespace tinkaf::text {

namespace {

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<std::uint16_t, 256> code_point{};
  std::array<std::int16_t, 512> byte{};
};

constexpr Alphabet make_alphabet() {
  Alphabet x;
  for (auto& b : x.byte)
    b = -1;
  unsigned next = 256;
  for (unsigned b = 0; b < 256; ++b) {
    const unsigned code = stands_for_itself(b) ? b : next++;
    x.code_point[b] = static_cast<std::uint16_t>(code);
    x.byte[code] = static_cast<std::int16_t>(b);
  }
  return x;
}

constexpr Alphabet alphabet = make_alphabet();

} // namespace

std::string to_printable(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const unsigned char b : bytes) {
    const unsigned code = alphabet.code_point[b];
    if (code < 0x80) {
      out += static_cast<char>(code);
    } else {
      out += static_cast<char>(0xC0 | (code >> 6));
      out += static_cast<char>(0x80 | (code & 0x3F));
    }
  }
  return out;
}

std::optional<std::string> from_printable(std::string_view printable) {
  std::string out;
  out.reserve(printable.size());
  for (std::size_t i = 0; i < printable.size(); ++i) {
    unsigned code = static_cast<unsigned char>(printable[i]);
    if (code >= 0x80) {
      if ((code & 0xE0) != 0xC0 || ++i == printable.size())
        return std::nullopt;
      const unsigned low = static_cast<unsigned char>(printable[i]);
      if ((low & 0xC0) != 0x80)
        return std::nullopt;
      code = (code & 0x1F) << 6 | (low & 0x3F);
    }
    if (code >= alphabet.byte.size() || alphabet.byte[code] < 0)
      return std::nullopt;
    out += static_cast<char>(alphabet.byte[code]);
  }
  return out;
}

} // namespace tinkaf::text
