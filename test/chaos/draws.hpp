// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace tinkaf::test {

/// Random numbers that are the same everywhere: SplitMix64 (Steele, Lea and Flood, 2014).
class Draws {
public:
  /// @param stream numbers of different streams have nothing to do with each other
  explicit Draws(std::uint64_t seed, std::uint64_t stream = 0) : state_(seed) {
    state_ = next() ^ (stream * 0x9E3779B97F4A7C15ULL);
    (void)next();
  }

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    auto x = state_;
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31U);
  }

  /// A number in [0, 1).
  double share() {
    return static_cast<double>(next() >> 11U) * 0x1p-53;
  }

  /// A whole number in [0, count); 0 if `count` is.
  std::uint64_t below(std::uint64_t count) {
    return count == 0 ? 0 : next() % count;
  }

private:
  std::uint64_t state_;
};

} // namespace tinkaf::test
