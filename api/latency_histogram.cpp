// SPDX-License-Identifier: Apache-2.0
#include "api/latency_histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tinkaf {

// Below 2^sub_bits a bucket is one microsecond. Above, the bits behind the leading one pick the
// bucket within its power of two.

std::size_t LatencyHistogram::bucket_of(std::uint64_t micros) noexcept {
  constexpr std::uint64_t first = std::uint64_t{1} << sub_bits;
  if (micros < first)
    return static_cast<std::size_t>(micros);
  auto power = static_cast<unsigned>(std::bit_width(micros)) - 1;
  auto shift = power - sub_bits;
  auto within = (micros >> shift) - first;
  auto bucket = (static_cast<std::size_t>(shift + 1) << sub_bits) + within;
  return std::min(bucket, buckets - 1);
}

std::uint64_t LatencyHistogram::value_of(std::size_t bucket) noexcept {
  constexpr std::uint64_t first = std::uint64_t{1} << sub_bits;
  if (bucket < first)
    return bucket;
  auto shift = (bucket >> sub_bits) - 1;
  auto low = (first + (bucket & (first - 1))) << shift;
  return low + ((std::uint64_t{1} << shift) >> 1U);
}

void LatencyHistogram::add(std::chrono::microseconds time) noexcept {
  auto micros = static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 0));
  ++counts_[bucket_of(micros)];
  ++count_;
  sum_ += static_cast<double>(micros);
  max_ = std::max(max_, micros);
}

std::chrono::microseconds LatencyHistogram::percentile(double share) const noexcept {
  if (count_ == 0)
    return std::chrono::microseconds{0};
  auto rank = std::max<std::uint64_t>(
      static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_))), 1);
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    seen += counts_[bucket];
    if (seen >= rank)
      return std::chrono::microseconds{static_cast<std::int64_t>(std::min(value_of(bucket), max_))};
  }
  return std::chrono::microseconds{static_cast<std::int64_t>(max_)};
}

LatencySummary LatencyHistogram::summary() const noexcept {
  if (count_ == 0)
    return {};
  return {.count = count_,
          .mean = std::chrono::microseconds{static_cast<std::int64_t>(
              std::llround(sum_ / static_cast<double>(count_)))},
          .p50 = percentile(0.50),
          .p95 = percentile(0.95),
          .p99 = percentile(0.99),
          .max = std::chrono::microseconds{static_cast<std::int64_t>(max_)}};
}

} // namespace tinkaf
