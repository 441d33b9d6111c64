// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/backoff.hpp"
#include "api/retry_policy.hpp"
#include "messages/error.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace tinkaf {

/// When a sample whose submission or result was lost is submitted again, as a new one: it leaves no
/// trace in the model. The repeats of one submission are `RetryPolicy`'s. Numbers: those of the
/// official SDK.
struct SamplingPolicy {
  /// Pause after the first loss; doubles after each further one up to `max_delay`.
  std::chrono::milliseconds first_delay{500};
  std::chrono::milliseconds max_delay{10'000};

  /// A pause is shortened or lengthened by up to this share; in [0, 1].
  double jitter = 0.25;

  /// Samples under way fail once this long none has ended well.
  std::chrono::milliseconds progress_timeout{7'200'000};

  /// True if submitting the same sample once more can cure `error`.
  [[nodiscard]] static bool covers(const Error& error) noexcept {
    return error.code == Errc::future_expired || is_worth_retrying(error, true);
  }

  /// The pause after a loss, never shorter than what the service asked for.
  /// @param losses so far, this one included
  /// @param draw a random number in [0, 1)
  [[nodiscard]] std::chrono::milliseconds next_delay(const Error& error, std::uint32_t losses,
                                                     double draw) const {
    auto delay = scale(doubled(first_delay, losses > 0 ? losses - 1 : 0, max_delay),
                       1.0 + jitter * (2.0 * draw - 1.0));
    delay = std::min(delay, max_delay);
    if (error.retry_after)
      delay
          = std::max(delay, scale(std::min(*error.retry_after, longest_wait), 1.0 + jitter * draw));
    return delay;
  }

  /// A longer wait asked for by the service is cut to this.
  static constexpr std::chrono::milliseconds longest_wait{60'000};
};

} // namespace tinkaf
