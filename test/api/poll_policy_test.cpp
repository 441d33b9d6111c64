// SPDX-License-Identifier: Apache-2.0
#include "api/poll_policy.hpp"

#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace tinkaf;

namespace {

const PollMoment held{.since_submit = 5s, .poll_took = 20s, .draw = 0.0};
const PollMoment quick{.since_submit = 5s, .poll_took = 1ms, .draw = 0.0};

Error error_of(int status) {
  return {.code = errc_from_http_status(status), .message = "no", .http_status = status};
}

Error lost(Errc code) {
  return {.code = code, .message = "gone"};
}

} // namespace

TEST_CASE("Polls that the service held are repeated at once", "[api][poll]") {
  PollPacer pacer{PollPolicy{}};
  CHECK(pacer.after_pending({}, held) == 0ms);
  CHECK(pacer.after_error(error_of(408), held) == 0ms);
  CHECK(pacer.after_error(error_of(503), held) == 0ms);
}

TEST_CASE("Polls that the service did not hold are slowed down", "[api][poll]") {
  PollPacer pacer{PollPolicy{}};
  for (auto expected : {50ms, 100ms, 200ms, 400ms, 800ms, 1'000ms, 1'000ms})
    CHECK(pacer.after_pending({}, quick) == expected);
  CHECK(pacer.after_pending({}, held) == 0ms);
  CHECK(pacer.after_pending({}, quick) == 50ms);
}

TEST_CASE("A wait that the service asks for is kept, within reason", "[api][poll]") {
  PollPacer pacer{PollPolicy{}};
  CHECK(pacer.after_pending({.retry_after = 3s}, held) == 3s);
  CHECK(pacer.after_pending({.retry_after = 24h}, held) == 60s);
  auto error = error_of(429);
  error.retry_after = 7s;
  CHECK(pacer.after_error(error, held) == 7s);
}

TEST_CASE("Lost connections and refusals are backed off from", "[api][poll]") {
  PollPacer pacer{PollPolicy{}};
  CHECK(pacer.after_error(lost(Errc::connection), quick) == 1s);
  CHECK(pacer.after_error(lost(Errc::timeout), quick) == 2s);
  CHECK(pacer.after_error(error_of(429), quick) == 4s);
  for (int i = 0; i < 5; ++i)
    static_cast<void>(pacer.after_error(error_of(429), quick));
  CHECK(pacer.after_error(error_of(429), quick) == 30s);
  CHECK(pacer.after_pending({}, held) == 0ms);
  CHECK(pacer.after_error(lost(Errc::connection), quick) == 1s);
  auto lucky = held;
  lucky.draw = 0.5;
  CHECK(pacer.after_error(lost(Errc::connection), lucky) == 2'250ms);
}

TEST_CASE("A poll whose answer was no HTTP is made again as one without an answer", "[api][poll]") {
  PollPacer pacer{PollPolicy{}};
  auto garbage = lost(Errc::protocol_error);
  CHECK_FALSE(pacer.after_error(garbage, held).has_value());
  garbage.should_retry = true;
  CHECK(pacer.after_error(garbage, held) == 1s);
  CHECK(pacer.after_error(garbage, held) == 2s);
}

TEST_CASE("A 400 is repeated three times over the life of a future", "[api][poll]") {
  PollPacer pacer{PollPolicy{}};
  for (int i = 0; i < 3; ++i) {
    CHECK(pacer.after_error(error_of(400), held) == 0ms);
    CHECK(pacer.after_pending({}, held) == 0ms);
  }
  auto final = pacer.after_error(error_of(400), held);
  REQUIRE_FALSE(final.has_value());
  CHECK(final.error() == error_of(400));
}

TEST_CASE("A 404 may mean that the future is not known yet", "[api][poll]") {
  PollPacer pacer{PollPolicy{}};
  CHECK(pacer.after_error(error_of(404), held) == 1s);
  auto late = held;
  late.since_submit = 30s;
  CHECK_FALSE(pacer.after_error(error_of(404), late).has_value());

  PollPacer counting{PollPolicy{}};
  for (int i = 0; i < 5; ++i)
    CHECK(counting.after_error(error_of(404), held).has_value());
  CHECK_FALSE(counting.after_error(error_of(404), held).has_value());
}

TEST_CASE("Final answers are final", "[api][poll]") {
  for (auto status : {401, 403, 409, 410, 422, 425}) {
    PollPacer pacer{PollPolicy{}};
    auto result = pacer.after_error(error_of(status), held);
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error() == error_of(status));
  }
  CHECK(errc_from_http_status(410) == Errc::future_expired);
}

TEST_CASE("A deadline ends the waiting and caps the polls", "[api][poll]") {
  PollPacer pacer{PollPolicy{.deadline = 10s}};
  CHECK(pacer.poll_timeout(0s) == 10s);
  CHECK(pacer.poll_timeout(8s) == 2s);
  CHECK(pacer.poll_timeout(1h) == 1ms);
  CHECK(PollPacer{PollPolicy{}}.poll_timeout(1h) == 45s);
  CHECK(pacer.after_pending({}, held) == 0ms);
  auto late = held;
  late.since_submit = 9'500ms;
  auto result = pacer.after_error(error_of(429), late);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == Errc::timeout);
  CHECK(result.error().http_status == 429);
  CHECK(result.error().should_retry == false);
}

TEST_CASE("Bad poll settings are named", "[api][poll]") {
  CHECK(validate(PollPolicy{}).has_value());
  CHECK(validate(PollPolicy{.jitter = -1.0}).error().message
        == "polling.jitter is -1, but must be in [0, 1]");
  CHECK_FALSE(validate(PollPolicy{.deadline = 0ms}).has_value());
}
