// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

namespace tinkaf {

/// How often and how fast broken pollers are started again.
struct RestartPolicy {
  /// Restarts of one job at most; beyond them its caller gets `Errc::gave_up`.
  std::uint32_t max_restarts_per_job = 5;

  /// Restarts of all jobs within `window` at most; beyond them every waiting caller gets
  /// `Errc::gave_up`, since the fault is not that of one job.
  std::uint32_t max_restarts = 100;
  std::chrono::milliseconds window{10'000};

  /// Pause before a job's first restart; doubles with each further one up to `max_delay`.
  std::chrono::milliseconds first_delay{100};
  std::chrono::milliseconds max_delay{10'000};

  /// Returns the pause before restart number `restart` (from 1), or nothing if it is one too many.
  [[nodiscard]] std::optional<std::chrono::milliseconds> next_delay(std::uint32_t restart) const {
    if (restart > max_restarts_per_job)
      return std::nullopt;
    auto doublings = std::min(restart - 1, 16U);
    return std::min(max_delay, first_delay * (std::int64_t{1} << doublings));
  }
};

/// Counts restarts within the policy's window. Holds no clock.
class RestartCounter {
public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// Notes a restart at `now`; false if there are too many.
  [[nodiscard]] bool note(const RestartPolicy& policy, TimePoint now) {
    times_.push_back(now);
    while (times_.front() + policy.window < now)
      times_.pop_front();
    return times_.size() <= policy.max_restarts;
  }

  void clear() {
    times_.clear();
  }

private:
  std::deque<TimePoint> times_;
};

} // namespace tinkaf
