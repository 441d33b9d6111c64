// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>

namespace tinkaf {

/// What to do about HTTP 402: wait for the account to be topped up, for a bounded time.
///
/// One per session, shared by all calls; not thread-safe, the clock comes in as an argument.
class BillingPause {
public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// @param max_pause how long an incident may last; `ClientConfig` has the service's value
  explicit BillingPause(std::chrono::milliseconds max_pause = std::chrono::hours{1});

  struct Decision {
    /// Pause before the same call is made again; absent if the incident has lasted too long.
    std::optional<std::chrono::milliseconds> delay;

    /// True at most once a minute: tell the user that the account has no credit.
    bool warn = false;
  };

  /// Notes a 402 at `now`.
  [[nodiscard]] Decision on_payment_required(TimePoint now);

private:
  std::chrono::milliseconds max_pause_;
  std::optional<TimePoint> began_;
  std::optional<TimePoint> warned_;
};

} // namespace tinkaf
