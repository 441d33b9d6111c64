// SPDX-License-Identifier: Apache-2.0
#include "api/recovery_policy.hpp"

#include "test/catch.hpp"

#include <limits>
#include <string>

using namespace std::chrono_literals;
using namespace tinkaf;

TEST_CASE("A recovery policy is off and good unless it is changed", "[api][recovery]") {
  RecoveryPolicy policy;
  CHECK_FALSE(policy.enabled);
  CHECK(validate(policy).has_value());
}

TEST_CASE("A bad recovery policy is refused by the name of its field", "[api][recovery]") {
  auto refusal = [](auto change) {
    RecoveryPolicy policy;
    change(policy);
    auto checked = validate(policy);
    REQUIRE_FALSE(checked.has_value());
    CHECK(checked.error().code == Errc::invalid_argument);
    return checked.error().message;
  };
  CHECK(refusal([](auto& x) { x.max_attempts = 0; })
        == "recovery.max_attempts is 0, but must be at least 1");
  CHECK(refusal([](auto& x) { x.max_concurrent = 0; }).find("recovery.max_concurrent is 0") == 0);
  CHECK(refusal([](auto& x) { x.first_delay = -5ms; }).find("recovery.first_delay is -5") == 0);
  CHECK(refusal([](auto& x) { x.max_delay = 1ms; }).find("recovery.max_delay is 1") == 0);
  CHECK(refusal([](auto& x) { x.poll_interval = 0ms; }).find("recovery.poll_interval is 0") == 0);
  CHECK(refusal([](auto& x) { x.jitter = 1.5; }).find("recovery.jitter is 1.5") == 0);
  CHECK(refusal([](auto& x) {
          x.jitter = std::numeric_limits<double>::quiet_NaN();
        }).find("recovery.jitter is nan")
        == 0);
  auto specific = [](const char* path) {
    return [path](RecoveryPolicy& x) {
      x.strategy = RecoveryStrategy::specific;
      x.checkpoint = path;
    };
  };
  CHECK(refusal(specific("")).find("recovery.checkpoint") != std::string::npos);
  CHECK(refusal(specific("tinker://run/sampler_weights/a")).find("tinker://run/weights/a")
        != std::string::npos);
}

TEST_CASE("Pauses between tries double up to their limit, give or take the jitter",
          "[api][recovery]") {
  RecoveryPolicy policy{.jitter = 0.0};
  CHECK(next_delay(policy, 2, 0.9) == 5s);
  CHECK(next_delay(policy, 3, 0.9) == 10s);
  CHECK(next_delay(policy, 5, 0.9) == 40s);
  CHECK(next_delay(policy, 6, 0.9) == 60s);
  CHECK(next_delay(policy, 4'000'000'000, 0.9) == 60s);
  policy.jitter = 0.5;
  CHECK(next_delay(policy, 2, 0.0) == 2'500ms);
  CHECK(next_delay(policy, 2, 0.5) == 5s);
  CHECK(next_delay(policy, 2, 1.0) == 7'500ms);
}

TEST_CASE("The best checkpoint is the later of those that are equal", "[api][recovery]") {
  auto nan = std::numeric_limits<double>::quiet_NaN();
  std::vector<RatedCheckpoint> rated{{"a", 3.0}, {"b", 1.0}, {"c", nan}, {"d", 1.0}, {"e", 3.0}};
  CHECK(best_of(rated, true)->path == "d");
  CHECK(best_of(rated, false)->path == "e");
  CHECK(best_of({{"c", nan}}, true) == nullptr);
  CHECK(best_of({}, true) == nullptr);
}
