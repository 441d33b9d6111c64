// SPDX-License-Identifier: Apache-2.0
#include "api/retry_policy.hpp"

#include "api/billing_pause.hpp"
#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace tinkaf;

namespace {

Error error_of(Errc code) {
  return {.code = code};
}

} // namespace

TEST_CASE("What may pass is repeated, what will not is not", "[api][retry]") {
  for (auto code :
       {Errc::connection, Errc::timeout, Errc::rate_limited, Errc::server_error, Errc::conflict})
    CHECK(is_worth_retrying(error_of(code), true));
  for (auto code : {Errc::invalid_argument, Errc::unauthenticated, Errc::permission_denied,
                    Errc::not_found, Errc::payment_required, Errc::future_expired,
                    Errc::request_failed, Errc::protocol_error, Errc::cancelled})
    CHECK_FALSE(is_worth_retrying(error_of(code), true));
}

TEST_CASE("The service's word goes before the kind of error", "[api][retry]") {
  auto error = error_of(Errc::server_error);
  error.should_retry = false;
  CHECK_FALSE(is_worth_retrying(error, true));
  error = error_of(Errc::not_found);
  error.should_retry = true;
  CHECK(is_worth_retrying(error, true));
}

TEST_CASE("A name that is taken stays taken", "[api][retry]") {
  auto error = error_of(Errc::conflict);
  error.message = "save_weights: the service answered 409: checkpoint `a` already exists";
  CHECK_FALSE(is_worth_retrying(error, true));
}

TEST_CASE("A call in doubt is repeated only where repeats are recognised", "[api][retry]") {
  auto error = error_of(Errc::connection);
  error.ambiguous = true;
  CHECK(is_worth_retrying(error, true));
  CHECK_FALSE(is_worth_retrying(error, false));
  error.ambiguous = false;
  CHECK(is_worth_retrying(error, false));
}

TEST_CASE("Pauses double up to their limit and shrink by chance", "[api][retry]") {
  RetryPolicy policy;
  auto delay = [&](std::uint32_t attempts, double draw) {
    return policy.next_delay(error_of(Errc::timeout), {.attempts = attempts, .draw = draw});
  };
  CHECK(delay(1, 0.0) == 500ms);
  CHECK(delay(2, 0.0) == 1s);
  CHECK(delay(5, 0.0) == 8s);
  CHECK(delay(6, 0.0) == 10s);
  CHECK(delay(4'000'000'000, 0.0) == 10s);
  CHECK(delay(1, 0.5) == 438ms); // 500 ms less an eighth, rounded up
}

TEST_CASE("Never sooner than asked for, within reason", "[api][retry]") {
  RetryPolicy policy;
  auto error = error_of(Errc::rate_limited);
  error.retry_after = 20s;
  CHECK(policy.next_delay(error, {.draw = 0.0}) == 20s);
  CHECK(policy.next_delay(error, {.draw = 0.5}) == 22'500ms);
  error.retry_after = 24h;
  CHECK(policy.next_delay(error, {.draw = 0.0}) == 60s);
  error.retry_after = 1ms;
  CHECK(policy.next_delay(error, {.draw = 0.0}) == 500ms);
}

TEST_CASE("Tries and time are limited", "[api][retry]") {
  RetryPolicy policy{.max_attempts = 2};
  CHECK(policy.next_delay(error_of(Errc::timeout), {.attempts = 1}).has_value());
  CHECK_FALSE(policy.next_delay(error_of(Errc::timeout), {.attempts = 2}).has_value());
  policy = {};
  CHECK(policy.next_delay(error_of(Errc::timeout), {.elapsed = 299'500ms}).has_value());
  CHECK_FALSE(policy.next_delay(error_of(Errc::timeout), {.elapsed = 299'501ms}).has_value());
}

TEST_CASE("Bad retry settings are named", "[api][retry]") {
  CHECK(validate(RetryPolicy{}).has_value());
  auto bad = validate(RetryPolicy{.max_delay = -5ms});
  REQUIRE_FALSE(bad.has_value());
  CHECK(bad.error().message == "retry.max_delay is -5 ms, but must not be negative");
}

TEST_CASE("An account without credit is waited for, and told of once a minute", "[api][billing]") {
  BillingPause pause{1h};
  auto start = BillingPause::TimePoint{} + 1h;
  auto first = pause.on_payment_required(start);
  CHECK(first.delay == 5s);
  CHECK(first.warn);
  CHECK_FALSE(pause.on_payment_required(start + 59s).warn);
  CHECK(pause.on_payment_required(start + 60s).warn);
}

TEST_CASE("Waiting for credit ends, and begins anew after a quiet time", "[api][billing]") {
  BillingPause pause{10min};
  auto start = BillingPause::TimePoint{} + 1h;
  for (auto t = 0s; t <= 10min; t += 5s)
    CHECK(pause.on_payment_required(start + t).delay.has_value());
  CHECK_FALSE(pause.on_payment_required(start + 10min + 5s).delay.has_value());
  CHECK_FALSE(pause.on_payment_required(start + 14min).delay.has_value());
  auto anew = pause.on_payment_required(start + 16min);
  CHECK(anew.delay.has_value());
  CHECK(anew.warn);
}
