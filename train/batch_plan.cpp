// SPDX-License-Identifier: Apache-2.0
#include "train/batch_plan.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tinkaf::train {

namespace {

/// SplitMix64: the standard's distributions differ from library to library, this does not.
class Random {
public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() noexcept {
    state_ += 0x9E3779B97F4A7C15U;
    auto x = state_;
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31U);
  }

  /// A number in [0, limit), each equally likely.
  std::uint64_t below(std::uint64_t limit) noexcept {
    const auto unfair = (0 - limit) % limit;
    auto draw = next();
    while (draw < unfair)
      draw = next();
    return draw % limit;
  }

private:
  std::uint64_t state_;
};

} // namespace

BatchPlan::BatchPlan(std::size_t rows, std::size_t batch_size, std::uint64_t seed)
    : rows_(rows), batch_size_(std::clamp<std::size_t>(batch_size, 1, rows)), seed_(seed),
      order_(rows) {
  shuffle(0);
}

std::size_t BatchPlan::steps_per_epoch() const noexcept {
  return rows_ / batch_size_;
}

LoaderPosition BatchPlan::position(std::size_t step) const noexcept {
  return {step / steps_per_epoch(), step % steps_per_epoch()};
}

std::size_t BatchPlan::step(const LoaderPosition& position) const noexcept {
  return position.epoch * steps_per_epoch() + position.batch;
}

const std::vector<std::size_t>& BatchPlan::rows_of(std::size_t step) {
  const auto [epoch, batch] = position(step);
  if (epoch != shuffled_epoch_)
    shuffle(epoch);
  const auto first = order_.begin() + static_cast<std::ptrdiff_t>(batch * batch_size_);
  batch_.assign(first, first + static_cast<std::ptrdiff_t>(batch_size_));
  return batch_;
}

void BatchPlan::shuffle(std::size_t epoch) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  auto random = Random{Random{seed_}.next() ^ Random{~std::uint64_t{epoch}}.next()};
  for (auto left = order_.size(); left > 1; --left)
    std::swap(order_[left - 1], order_[random.below(left)]);
  shuffled_epoch_ = epoch;
}

} // namespace tinkaf::train
