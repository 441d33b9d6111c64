// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tinkaf::test {

/// The regular files in a plain tar of short names; throws if it is none.
inline std::map<std::string, std::string> read_tar(std::string_view bytes) {
  constexpr std::size_t block = 512;
  std::map<std::string, std::string> out;
  while (bytes.size() >= block && bytes[0] != '\0') {
    const std::string name{bytes.substr(0, 100).data()};
    if (bytes.substr(257, 5) != "ustar" || (bytes[156] != '0' && bytes[156] != '\0'))
      throw std::runtime_error{"not a plain file of a tar: " + name};
    const auto size = std::stoul(std::string{bytes.substr(124, 11)}, nullptr, 8);
    const auto padded = (size + block - 1) / block * block;
    if (bytes.size() < block + padded)
      throw std::runtime_error{"the tar is too short for " + name};
    out[name] = bytes.substr(block, size);
    bytes.remove_prefix(block + padded);
  }
  if (bytes.size() < 2 * block)
    throw std::runtime_error{"the tar has no end"};
  return out;
}

} // namespace tinkaf::test
