// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/client_metrics.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace tinkaf {

/// Counts times in buckets that grow with them: sixteen for each power of two, so that a percentile
/// is off by 1/32 at most. From one microsecond to four days; fixed size, about 5 kB.
class LatencyHistogram {
public:
  /// Negative times count as 0.
  void add(std::chrono::microseconds time) noexcept;

  /// The time that this share of all times does not exceed.
  /// @param share in [0, 1]
  [[nodiscard]] std::chrono::microseconds percentile(double share) const noexcept;

  [[nodiscard]] LatencySummary summary() const noexcept;

private:
  static constexpr unsigned sub_bits = 4;
  static constexpr unsigned max_power = 38; // 2^38 µs are three days
  static constexpr std::size_t buckets = std::size_t{max_power - sub_bits + 1} << sub_bits;

  [[nodiscard]] static std::size_t bucket_of(std::uint64_t micros) noexcept;

  /// The middle of a bucket.
  [[nodiscard]] static std::uint64_t value_of(std::size_t bucket) noexcept;

  std::array<std::uint64_t, buckets> counts_{};
  std::uint64_t count_ = 0;
  double sum_ = 0.0;
  std::uint64_t max_ = 0;
};

} // namespace tinkaf
