// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace tinkaf {

/// Decides whether a failed call is made again, and after which pause.
///
/// One layer in place of the official SDK's two: the pauses of its inner one, the time limit of its
/// outer one. Holds no clock and no random source: both come in as arguments.
///
/// Repeated: 408, 409, 429, 5xx, no connection, time-out. Not repeated: what the service says not
/// to repeat (`Error::should_retry`), 409 for a name that exists, all else. 402 is left to
/// `BillingPause`.
struct RetryPolicy {
  /// Pause after the first failure; doubles after each further one.
  std::chrono::milliseconds first_delay{500};

  /// The pause never grows past this by itself.
  std::chrono::milliseconds max_delay{10'000};

  /// A pause of our own is shortened, one that the service asked for is lengthened, by up to this
  /// share; in [0, 1].
  double jitter = 0.25;

  /// No new try starts after this much time since the first.
  std::chrono::milliseconds budget{300'000};

  /// A longer wait asked for by the service is cut to this.
  std::chrono::milliseconds max_retry_after{60'000};

  /// Tries at most, the first one included; 1 switches retries off, 0 sets no limit.
  std::uint32_t max_attempts = 0;

  /// What is known when a try has failed.
  struct Attempt {
    /// Tries made so far; at least 1.
    std::uint32_t attempts = 1;

    /// Time since the first try began.
    std::chrono::milliseconds elapsed{0};

    /// A random number in [0, 1).
    double draw = 0.0;

    /// The service recognises a repeat, by sequence number or idempotency key; if not, a call that
    /// may have been accepted (`Error::ambiguous`) is not made again.
    bool idempotent = true;
  };

  /// Returns the pause before the next try, or nothing if `error` is final.
  ///
  /// Never shorter than `Error::retry_after` (after its cut to `max_retry_after`); a pause that
  /// would end past `budget` makes the error final.
  [[nodiscard]] std::optional<std::chrono::milliseconds> next_delay(const Error& error,
                                                                    const Attempt& attempt) const;

  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};

/// True if `error` is of a kind that repeating the same call can cure.
[[nodiscard]] bool is_worth_retrying(const Error& error, bool idempotent) noexcept;

/// Checks every field; the error names the first bad one and its value.
[[nodiscard]] Result<void> validate(const RetryPolicy& policy);

} // namespace tinkaf
