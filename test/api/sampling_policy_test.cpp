// SPDX-License-Identifier: Apache-2.0
#include "api/sampling_policy.hpp"

#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace tinkaf;

TEST_CASE("Pauses between samples that were lost double up to ten seconds", "[api][sampling]") {
  SamplingPolicy policy;
  Error lost{.code = Errc::connection, .message = "reset"};
  const auto middle = 0.5; // neither shortened nor lengthened
  for (auto [losses, pause] : {std::pair{1U, 500ms},
                               {2U, 1'000ms},
                               {5U, 8'000ms},
                               {6U, 10'000ms},
                               {4'000'000'000U, 10'000ms}})
    CHECK(policy.next_delay(lost, losses, middle) == pause);
  CHECK(policy.next_delay(lost, 1, 0.0) == 375ms);
  CHECK(policy.next_delay(lost, 9, 0.999) == 10s); // never above the most
}

TEST_CASE("A lost sample is not drawn again before the time that the service asks for",
          "[api][sampling]") {
  SamplingPolicy policy;
  Error lost{.code = Errc::rate_limited, .message = "slow", .retry_after = 20s};
  CHECK(policy.next_delay(lost, 1, 0.0) == 20s);
  CHECK(policy.next_delay(lost, 1, 0.999) > 24s);
  lost.retry_after = 24h;
  CHECK(policy.next_delay(lost, 1, 0.0) == 60s);
}

TEST_CASE("What drawing again can cure is told apart from what it cannot", "[api][sampling]") {
  for (auto code : {Errc::future_expired, Errc::connection, Errc::timeout, Errc::server_error,
                    Errc::rate_limited, Errc::conflict})
    CHECK(SamplingPolicy::covers({.code = code, .message = "lost"}));
  for (auto code : {Errc::request_failed, Errc::invalid_argument, Errc::protocol_error,
                    Errc::payment_required, Errc::cancelled, Errc::gave_up})
    CHECK_FALSE(SamplingPolicy::covers({.code = code, .message = "final"}));
  // The caller's own deadline, which the poller marks so.
  CHECK_FALSE(SamplingPolicy::covers(
      {.code = Errc::timeout, .message = "deadline", .should_retry = false}));
}
