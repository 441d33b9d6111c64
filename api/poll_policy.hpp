// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "messages/future.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace tinkaf {

/// How to wait for a result; `PollPacer` applies it.
struct PollPolicy {
  /// Time limit of one poll; the service holds it while it works.
  std::chrono::milliseconds poll_timeout{45'000};

  /// Pause after a lost connection or a 429; doubles while they go on.
  std::chrono::milliseconds first_delay{1'000};
  std::chrono::milliseconds max_delay{30'000};

  /// Pauses grow by up to this share; in [0, 1].
  double jitter = 0.25;

  /// A poll answered sooner than this was not held by the service, so the next one is delayed:
  /// `hot_loop_delay`, doubling up to `max_hot_loop_delay` while quick answers go on.
  std::chrono::milliseconds hot_loop_threshold{50};
  std::chrono::milliseconds hot_loop_delay{50};
  std::chrono::milliseconds max_hot_loop_delay{1'000};

  /// Polls answered with 400 that are repeated, over the life of the future.
  std::uint32_t max_bad_requests = 3;

  /// How long after the submission a 404 may still mean "not known yet"; 0 makes it final at once.
  std::chrono::milliseconds not_found_grace{30'000};
  std::uint32_t max_not_found = 5;

  /// A longer wait asked for by the service is cut to this.
  std::chrono::milliseconds max_retry_after{60'000};

  /// Give up with `Errc::timeout` this long after the submission; never if absent. No pause and no
  /// poll goes past it: where the next poll would begin too late, the wait ends at once.
  std::optional<std::chrono::milliseconds> deadline;

  friend bool operator==(const PollPolicy&, const PollPolicy&) = default;
};

/// Checks every field; the error names the first bad one and its value.
[[nodiscard]] Result<void> validate(const PollPolicy& policy);

/// What is known when a poll has been answered.
struct PollMoment {
  /// Time since the operation was submitted.
  std::chrono::milliseconds since_submit{0};

  /// How long this poll took.
  std::chrono::milliseconds poll_took{0};

  /// A random number in [0, 1).
  double draw = 0.0;
};

/// Paces the polls of one future: after each outcome, when to poll again or why not.
///
/// Holds no clock and no random source. A 402 is not for it: ask `BillingPause`, then poll again.
class PollPacer {
public:
  explicit PollPacer(PollPolicy policy);

  /// The service is still at work.
  /// @returns the pause before the next poll (mostly none: the service paces by holding the poll),
  ///   or `Errc::timeout` past the deadline
  [[nodiscard]] Result<std::chrono::milliseconds> after_pending(const FuturePending& pending,
                                                                const PollMoment& moment);

  /// The poll failed: no answer, or a status outside 2xx as read by `wire::read_error`.
  /// @returns the pause before the next poll, or the final error: `error` itself (a 410 as
  ///   `Errc::future_expired`), or `Errc::timeout` past the deadline
  [[nodiscard]] Result<std::chrono::milliseconds> after_error(Error error,
                                                              const PollMoment& moment);

  /// The service works on the request after all: its 400s are counted from 0 again.
  void forgive_bad_requests() noexcept {
    bad_requests_ = 0;
  }

  /// What is left until the deadline; cap the time limit of the next poll with it.
  [[nodiscard]] std::chrono::milliseconds
  poll_timeout(std::chrono::milliseconds since_submit) const;

private:
  [[nodiscard]] Result<std::chrono::milliseconds> within_deadline(std::chrono::milliseconds delay,
                                                                  const PollMoment& moment,
                                                                  const Error* last) const;
  [[nodiscard]] std::chrono::milliseconds at_once(const PollMoment& moment);
  [[nodiscard]] std::chrono::milliseconds back_off(const Error& error, const PollMoment& moment);

  PollPolicy policy_;
  std::uint32_t back_offs_ = 0;
  std::uint32_t quick_answers_ = 0;
  std::uint32_t bad_requests_ = 0;
  std::uint32_t not_found_ = 0;
};

} // namespace tinkaf
