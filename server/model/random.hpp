// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string_view>

namespace tinkaf::model {

/// Mixes two numbers into one that looks random (the finalizer of SplitMix64, Steele et al. 2014).
constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t x = a + 0x9E3779B97F4A7C15ULL * (b + 1);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

/// Mixes a name into a number (FNV-1a).
constexpr std::uint64_t mix(std::uint64_t a, std::string_view name) noexcept {
  std::uint64_t x = 0xCBF29CE484222325ULL;
  for (const char c : name)
    x = (x ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
  return mix(a, x);
}

/// A small generator whose numbers are the same with every compiler and library.
class Random {
public:
  explicit Random(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    return mix(state_, count_++);
  }

  /// Uniform in [0, 1).
  double uniform() noexcept {
    return static_cast<double>(next() >> 11) * 0x1.0p-53;
  }

  /// Uniform in [0, n); the bias is below n / 2^64.
  std::size_t below(std::size_t n) noexcept {
    return static_cast<std::size_t>(next() % n);
  }

  /// Normal with mean 0 and deviation 1 (Box-Muller).
  double normal() noexcept {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

private:
  std::uint64_t state_;
  std::uint64_t count_ = 0;
};

} // namespace tinkaf::model
