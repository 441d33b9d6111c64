// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "messages/recovery.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tinkaf {

/// Which checkpoint to go on from.
enum class RecoveryStrategy : std::uint8_t {
  /// The one that was given with the run, else the run's newest.
  latest,
  /// The best of those that were rated; `latest` where none was.
  best,
  /// `RecoveryPolicy::checkpoint`, and no other.
  specific,
};

/// Whether and how broken training runs are recovered. Off unless `enabled` is set.
struct RecoveryPolicy {
  bool enabled = false;

  /// Tries for one failure of a run, the first one included.
  std::uint32_t max_attempts = 3;

  /// Pause before the second try; doubles with each further one up to `max_delay`.
  std::chrono::milliseconds first_delay{5'000};
  std::chrono::milliseconds max_delay{60'000};

  /// Pauses are changed at random by up to this part of them, in [0, 1], so that the runs of many
  /// clients do not come back all at once.
  double jitter = 0.1;

  /// How often the service is asked whether a run is corrupted.
  std::chrono::milliseconds poll_interval{30'000};

  RecoveryStrategy strategy = RecoveryStrategy::latest;

  /// Of `specific`: a `tinker://…/weights/…` path.
  std::string checkpoint;

  /// Of `best`: whether a smaller metric is better.
  bool lower_is_better = true;

  /// Restore the optimizer's state too.
  bool with_optimizer = true;

  /// Runs that are recovered at a time; more wait.
  std::uint32_t max_concurrent = 1;
};

/// @returns `Errc::invalid_argument` naming the field and its value
[[nodiscard]] Result<void> validate(const RecoveryPolicy& policy);

/// The pause before a try.
/// @param attempt from 2, the first one that waits
/// @param draw a random number in [0, 1)
[[nodiscard]] std::chrono::milliseconds next_delay(const RecoveryPolicy& policy,
                                                   std::uint32_t attempt, double draw);

/// The best of some checkpoints; the later of two that are equal. Null if there is none whose
/// metric is a number.
[[nodiscard]] const RatedCheckpoint* best_of(const std::vector<RatedCheckpoint>& rated,
                                             bool lower_is_better) noexcept;

} // namespace tinkaf
