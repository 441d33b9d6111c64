// SPDX-License-Identifier: Apache-2.0
#include "api/poll_policy.hpp"

#include "api/backoff.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tinkaf {

namespace {

using Millis = std::chrono::milliseconds;

constexpr Millis shortest_timeout{1};

} // namespace

Result<void> validate(const PollPolicy& policy) {
  if (auto bad = first_negative({{"first_delay", policy.first_delay},
                                 {"max_delay", policy.max_delay},
                                 {"hot_loop_threshold", policy.hot_loop_threshold},
                                 {"hot_loop_delay", policy.hot_loop_delay},
                                 {"max_hot_loop_delay", policy.max_hot_loop_delay},
                                 {"not_found_grace", policy.not_found_grace},
                                 {"max_retry_after", policy.max_retry_after}}))
    return fail(Errc::invalid_argument, "polling." + *bad);
  if (policy.poll_timeout <= Millis{0})
    return fail(Errc::invalid_argument, fmt::format("polling.poll_timeout is {} ms, but must be "
                                                    "above 0",
                                                    policy.poll_timeout.count()));
  if (policy.deadline && *policy.deadline <= Millis{0})
    return fail(
        Errc::invalid_argument,
        fmt::format("polling.deadline is {} ms, but must be above 0", policy.deadline->count()));
  if (!(policy.jitter >= 0.0 && policy.jitter <= 1.0))
    return fail(Errc::invalid_argument,
                fmt::format("polling.jitter is {}, but must be in [0, 1]", policy.jitter));
  return {};
}

PollPacer::PollPacer(PollPolicy policy) : policy_(policy) {}

Result<Millis> PollPacer::after_pending(const FuturePending& pending, const PollMoment& moment) {
  back_offs_ = 0;
  auto delay = at_once(moment);
  if (pending.retry_after)
    delay = std::max(delay, std::min(*pending.retry_after, policy_.max_retry_after));
  return within_deadline(delay, moment, nullptr);
}

Result<Millis> PollPacer::after_error(Error error, const PollMoment& moment) {
  auto answered = error.http_status != 0;
  auto lost = error.code == Errc::connection || (error.code == Errc::timeout && !answered)
              || (error.code == Errc::protocol_error && !answered
                  && error.should_retry.value_or(false)); // no HTTP
  if (lost || error.code == Errc::rate_limited)
    return within_deadline(back_off(error, moment), moment, &error);

  if (error.http_status == 410)
    error.code = Errc::future_expired;
  if (error.code == Errc::not_found && not_found_ < policy_.max_not_found
      && moment.since_submit < policy_.not_found_grace) {
    ++not_found_;
    return within_deadline(back_off(error, moment), moment, &error);
  }
  back_offs_ = 0;
  auto bad_request = error.http_status == 400 && bad_requests_ < policy_.max_bad_requests;
  if (bad_request)
    ++bad_requests_;
  if (!bad_request && error.code != Errc::server_error && error.code != Errc::timeout)
    return fail(std::move(error));
  auto delay = at_once(moment);
  if (error.retry_after)
    delay = std::max(delay, std::min(*error.retry_after, policy_.max_retry_after));
  return within_deadline(delay, moment, &error);
}

Millis PollPacer::poll_timeout(Millis since_submit) const {
  if (!policy_.deadline)
    return policy_.poll_timeout;
  return std::max(std::min(policy_.poll_timeout, *policy_.deadline - since_submit),
                  shortest_timeout);
}

Result<Millis> PollPacer::within_deadline(Millis delay, const PollMoment& moment,
                                          const Error* last) const {
  if (!policy_.deadline || moment.since_submit + delay < *policy_.deadline)
    return delay;
  Error error{.code = Errc::timeout, .category = default_category(Errc::timeout)};
  error.should_retry = false; // the caller's own limit, which another try would not keep either
  error.message = fmt::format("polling.deadline is {} ms", policy_.deadline->count());
  if (last != nullptr) {
    error.message += "; the last poll failed: " + last->message;
    error.http_status = last->http_status;
  }
  return fail(std::move(error));
}

/// No pause, unless the service did not hold the poll.
Millis PollPacer::at_once(const PollMoment& moment) {
  if (moment.poll_took >= policy_.hot_loop_threshold) {
    quick_answers_ = 0;
    return Millis{0};
  }
  auto delay = doubled(policy_.hot_loop_delay, quick_answers_, policy_.max_hot_loop_delay);
  ++quick_answers_;
  return scale(delay, 1.0 + policy_.jitter * moment.draw);
}

Millis PollPacer::back_off(const Error& error, const PollMoment& moment) {
  auto delay = doubled(policy_.first_delay, back_offs_, policy_.max_delay);
  ++back_offs_;
  if (error.retry_after)
    delay = std::max(delay, std::min(*error.retry_after, policy_.max_retry_after));
  return scale(delay, 1.0 + policy_.jitter * moment.draw);
}

} // namespace tinkaf
