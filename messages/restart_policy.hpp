// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string_view>

namespace tinkaf {

/// Told of each actor that is started, or started again: its kind, for example "tinkaf.poller", and
/// a function that breaks it, which any thread may call and which keeps nothing alive. For tests.
using StartSink = std::function<void(std::string_view kind, std::function<void()> break_it)>;

/// How often and how fast what breaks is started again. Counted for each actor by itself: one that
/// breaks for ever takes nothing from its neighbours.
struct RestartPolicy {
  /// Restarts within `window` at most; beyond them it is given up.
  std::uint32_t max_restarts = 5;
  std::chrono::milliseconds window{60'000};

  /// Pause before the first restart within `window`; doubles with each further one up to
  /// `max_delay`.
  std::chrono::milliseconds first_delay{100};
  std::chrono::milliseconds max_delay{10'000};

  /// Called by the one that starts it, so it must not wait.
  StartSink on_start;
};

/// Checks the times; the error names the first that is negative, and its value.
/// @param name of the policy, for example "restarts.pollers"
[[nodiscard]] Result<void> validate(const RestartPolicy& policy, std::string_view name);

/// Who is restarted how.
struct RestartPolicies {
  /// Pollers, one for each result that is waited for; beyond the limit its caller gets
  /// `Errc::gave_up`.
  RestartPolicy pollers;

  /// Training, sampling and REST clients; beyond the limit all that the client was asked for is
  /// answered with `Errc::gave_up`, and it ends.
  RestartPolicy clients;

  /// What all clients need: HTTP, poller supervisor, gate, budgets, telemetry; beyond the limit the
  /// session ends, except that it goes on without telemetry.
  RestartPolicy services;
};

/// The restarts of one actor. Holds no clock.
class RestartCounter {
public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// Notes a breakage at `now`.
  /// @returns the pause before the restart, or nothing if there have been too many
  [[nodiscard]] std::optional<std::chrono::milliseconds> next_delay(const RestartPolicy& policy,
                                                                    TimePoint now) {
    recent_.push_back(now);
    while (recent_.front() + policy.window < now)
      recent_.pop_front();
    ++total_;
    if (recent_.size() > policy.max_restarts)
      return std::nullopt;
    auto doublings = std::min<std::size_t>(recent_.size() - 1, 16);
    return std::min(policy.max_delay, policy.first_delay * (std::int64_t{1} << doublings));
  }

  /// Breakages ever.
  [[nodiscard]] std::uint32_t total() const noexcept {
    return total_;
  }

private:
  std::deque<TimePoint> recent_;
  std::uint32_t total_ = 0;
};

} // namespace tinkaf
