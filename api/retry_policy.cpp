// SPDX-License-Identifier: Apache-2.0
#include "api/retry_policy.hpp"

#include "api/backoff.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tinkaf {

bool is_worth_retrying(const Error& error, bool idempotent) noexcept {
  if (error.ambiguous && !idempotent)
    return false;
  if (error.should_retry)
    return *error.should_retry;
  switch (error.code) {
  case Errc::connection:
  case Errc::timeout:
  case Errc::rate_limited:
  case Errc::server_error:
    return true;
  case Errc::conflict:
    // A race that settles, unless the service says that the name is taken.
    return error.message.find("exist") == std::string::npos;
  default:
    return false;
  }
}

std::optional<std::chrono::milliseconds> RetryPolicy::next_delay(const Error& error,
                                                                 const Attempt& attempt) const {
  if (!is_worth_retrying(error, attempt.idempotent))
    return std::nullopt;
  if (max_attempts != 0 && attempt.attempts >= max_attempts)
    return std::nullopt;
  auto doublings = attempt.attempts > 0 ? attempt.attempts - 1 : 0;
  auto delay = scale(doubled(first_delay, doublings, max_delay), 1.0 - jitter * attempt.draw);
  if (error.retry_after) {
    auto asked = std::min(*error.retry_after, max_retry_after);
    delay = std::max(delay, scale(asked, 1.0 + jitter * attempt.draw));
  }
  if (delay > budget || attempt.elapsed > budget - delay)
    return std::nullopt;
  return delay;
}

Result<void> validate(const RetryPolicy& policy) {
  if (auto bad = first_negative({{"first_delay", policy.first_delay},
                                 {"max_delay", policy.max_delay},
                                 {"budget", policy.budget},
                                 {"max_retry_after", policy.max_retry_after}}))
    return fail(Errc::invalid_argument, "retry." + *bad);
  if (!(policy.jitter >= 0.0 && policy.jitter <= 1.0))
    return fail(Errc::invalid_argument,
                fmt::format("retry.jitter is {}, but must be in [0, 1]", policy.jitter));
  return {};
}

} // namespace tinkaf
