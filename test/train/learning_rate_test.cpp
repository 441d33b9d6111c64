// SPDX-License-Identifier: Apache-2.0
#include "train/learning_rate.hpp"

#include "test/catch.hpp"

using namespace tinkaf;
using namespace tinkaf::train;

TEST_CASE("The learning rate follows its schedule", "[train][learning_rate]") {
  CHECK(lr_factor(LrSchedule::constant, 9, 10) == 1.0);
  CHECK(lr_factor(LrSchedule::linear, 0, 10) == 1.0);
  CHECK(lr_factor(LrSchedule::linear, 1, 10) == Catch::Approx(0.9));
  CHECK(lr_factor(LrSchedule::linear, 9, 10) == Catch::Approx(0.1));
  // (1 + cos(πi/10))/2 to six digits.
  CHECK(lr_factor(LrSchedule::cosine, 1, 10) == Catch::Approx(0.975528).margin(1e-6));
  CHECK(lr_factor(LrSchedule::cosine, 5, 10) == Catch::Approx(0.5));
  CHECK(lr_factor(LrSchedule::cosine, 9, 10) == Catch::Approx(0.024472).margin(1e-6));
}

TEST_CASE("A schedule is known by its name", "[train][learning_rate]") {
  for (const auto schedule : {LrSchedule::constant, LrSchedule::linear, LrSchedule::cosine})
    CHECK(parse_lr_schedule(to_string(schedule)) == schedule);
  const auto unknown = parse_lr_schedule("step");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().message
        == "learning-rate schedule must be constant, linear or cosine, but is \"step\"");
}
