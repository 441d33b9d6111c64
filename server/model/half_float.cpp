// SPDX-License-Identifier: Apache-2.0
#include "server/model/safetensors.hpp"

#include <bit>
#include <cmath>

namespace tinkaf::model {

std::uint16_t to_bf16(float x) noexcept {
  auto bits = std::bit_cast<std::uint32_t>(x);
  if (std::isnan(x))
    return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  bits += 0x7FFF + (bits >> 16 & 1);
  return static_cast<std::uint16_t>(bits >> 16);
}

float from_bf16(std::uint16_t x) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(x) << 16);
}

std::uint16_t to_f16(float x) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  const float magnitude = std::fabs(x);
  if (std::isnan(x))
    return static_cast<std::uint16_t>(sign | 0x7E00);
  if (magnitude >= 65520.0F) // would round beyond the largest finite value
    return static_cast<std::uint16_t>(sign | 0x7C00);
  if (magnitude < 6.103515625e-05F) {
    // Subnormal: a multiple of 2^-24.
    const auto steps = static_cast<std::uint16_t>(std::nearbyint(magnitude * 16777216.0F));
    return static_cast<std::uint16_t>(sign | steps);
  }
  auto rounded = bits & 0x7FFFFFFF;
  rounded += 0xFFF + (rounded >> 13 & 1);
  return static_cast<std::uint16_t>(sign | ((rounded >> 13) - (112 << 10)));
}

float from_f16(std::uint16_t x) noexcept {
  const std::uint32_t sign = static_cast<std::uint32_t>(x & 0x8000) << 16;
  const std::uint32_t exponent = x >> 10 & 0x1F;
  const std::uint32_t fraction = x & 0x3FF;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) / 16777216.0F;
    return sign != 0 ? -magnitude : magnitude;
  }
  const std::uint32_t widened = exponent == 31 ? 0xFF : exponent + 112;
  return std::bit_cast<float>(sign | widened << 23 | fraction << 13);
}

} // namespace tinkaf::model
