// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tinkaf::train {

/// The place of a batch in the data: enough to go on where a run stopped.
struct LoaderPosition {
  /// Passes through the data that are complete.
  std::size_t epoch = 0;

  /// Batches of the current pass that are done.
  std::size_t batch = 0;

  friend bool operator==(const LoaderPosition&, const LoaderPosition&) = default;
};

/// Deals the rows of a data set into batches, in a new order each epoch.
///
/// The order follows from the seed and the epoch alone, on every machine; what is left over at
/// the end of an epoch is not dealt in it.
class BatchPlan {
public:
  /// @param rows number of rows; at least 1
  /// @param batch_size rows in a batch; at least 1, and taken as `rows` if larger
  BatchPlan(std::size_t rows, std::size_t batch_size, std::uint64_t seed);

  /// Batches in one pass through the data; at least 1.
  [[nodiscard]] std::size_t steps_per_epoch() const noexcept;

  /// Where step `step`, counted from 0 through all epochs, stands.
  [[nodiscard]] LoaderPosition position(std::size_t step) const noexcept;

  /// The step at a position; the inverse of `position`.
  [[nodiscard]] std::size_t step(const LoaderPosition& position) const noexcept;

  /// Indices of the rows of a step's batch, in the order in which they are sent.
  [[nodiscard]] const std::vector<std::size_t>& rows_of(std::size_t step);

private:
  void shuffle(std::size_t epoch);

  std::size_t rows_;
  std::size_t batch_size_;
  std::uint64_t seed_;
  std::size_t shuffled_epoch_ = 0;
  std::vector<std::size_t> order_;
  std::vector<std::size_t> batch_;
};

} // namespace tinkaf::train
