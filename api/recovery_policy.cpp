// SPDX-License-Identifier: Apache-2.0
#include "api/recovery_policy.hpp"

#include "api/backoff.hpp"
#include "api/checkpoint_check.hpp"

#include <fmt/format.h>

#include <cmath>

namespace tinkaf {

Result<void> validate(const RecoveryPolicy& policy) {
  auto bad = [](const char* name, auto value, const char* wanted) {
    return fail(Errc::invalid_argument,
                fmt::format("recovery.{} is {}, but must be {}", name, value, wanted));
  };
  if (policy.max_attempts < 1)
    return bad("max_attempts", policy.max_attempts, "at least 1");
  if (policy.max_concurrent < 1)
    return bad("max_concurrent", policy.max_concurrent, "at least 1");
  if (policy.first_delay.count() < 0)
    return bad("first_delay", policy.first_delay.count(), "0 ms or more");
  if (policy.max_delay < policy.first_delay)
    return bad("max_delay", policy.max_delay.count(), "no shorter than first_delay");
  if (policy.poll_interval.count() < 1)
    return bad("poll_interval", policy.poll_interval.count(), "at least 1 ms");
  if (!(policy.jitter >= 0.0 && policy.jitter <= 1.0))
    return bad("jitter", policy.jitter, "in [0, 1]");
  if (policy.strategy == RecoveryStrategy::specific)
    return check_training_path(policy.checkpoint, "recovery.checkpoint").map_error([](Error error) {
      error.message = "recovery.checkpoint: " + error.message;
      return error;
    });
  return {};
}

std::chrono::milliseconds next_delay(const RecoveryPolicy& policy, std::uint32_t attempt,
                                     double draw) {
  auto delay = doubled(policy.first_delay, attempt > 2 ? attempt - 2 : 0, policy.max_delay);
  return scale(delay, 1.0 + policy.jitter * (2.0 * draw - 1.0));
}

const RatedCheckpoint* best_of(const std::vector<RatedCheckpoint>& rated,
                               bool lower_is_better) noexcept {
  const RatedCheckpoint* best = nullptr;
  for (const auto& x : rated) {
    if (std::isnan(x.metric))
      continue;
    if (best == nullptr || (lower_is_better ? x.metric <= best->metric : x.metric >= best->metric))
      best = &x;
  }
  return best;
}

} // namespace tinkaf
