// SPDX-License-Identifier: Apache-2.0
#include "api/random.hpp"

#include <cstddef>
#include <random>

#include <unistd.h>

namespace tinkaf {

std::array<std::uint32_t, 4> random_bits() {
  std::array<std::uint32_t, 4> bits{};
  if (getentropy(bits.data(), sizeof bits) != 0) {
    std::random_device source;
    for (auto& word : bits)
      word = source();
  }
  return bits;
}

double random_draw() {
  return random_bits()[0] * 0x1p-32;
}

} // namespace tinkaf
