// SPDX-License-Identifier: Apache-2.0
#include "train/lr_plan.hpp"

#include "test/catch.hpp"

#include <cmath>

using namespace tinkaf;
using namespace tinkaf::train;

namespace {

LrPlan plan(LrKind kind) {
  return {.kind = kind, .base = 1e-3, .steps = 10, .warmup = 2, .min_ratio = 0.1};
}

double rate(LrKind kind, std::int64_t step) {
  return rate_at(plan(kind), step).value();
}

} // namespace

TEST_CASE("A rate is warmed up and decays to its least, exactly on the last step",
          "[train][lr_plan]") {
  using Catch::Approx;
  // Values by the formulas, base 1e-3, 10 steps, 2 of warm-up, ratio 0.1.
  for (const auto kind : {LrKind::linear_decay, LrKind::cosine_with_warmup}) {
    INFO(to_string(kind));
    CHECK(rate(kind, 0) == Approx(5.0e-4));
    CHECK(rate(kind, 1) == Approx(1.0e-3));
    CHECK(rate(kind, 2) == Approx(1.0e-3));
    CHECK(rate(kind, 9) == Approx(1.0e-4).epsilon(1e-12));
    CHECK(rate(kind, 99) == rate(kind, 9));
  }
  CHECK(rate(LrKind::linear_decay, 5) == Approx(6.142857e-4).epsilon(1e-6));
  CHECK(rate(LrKind::cosine_with_warmup, 5) == Approx(6.501344e-4).epsilon(1e-6));
}

TEST_CASE("Kinds without a decay stay, kinds without a warm-up begin high", "[train][lr_plan]") {
  CHECK(rate(LrKind::constant, 0) == 1e-3);
  CHECK(rate(LrKind::constant, 9) == 1e-3);
  CHECK(rate(LrKind::linear_warmup, 0) == 5e-4);
  CHECK(rate(LrKind::linear_warmup, 9) == 1e-3);
  CHECK(rate(LrKind::cosine, 0) == Catch::Approx(1e-3));
  CHECK(rate(LrKind::cosine, 9) == Catch::Approx(1e-4));
  // A run of one step, and a warm-up longer than the run.
  CHECK(rate_at({.kind = LrKind::linear_decay, .base = 1.0, .steps = 1}, 0) == 1.0);
  CHECK(rate_at({.kind = LrKind::linear_decay, .base = 1.0, .steps = 2, .warmup = 9}, 0) == 0.5);
  CHECK(rate_at({.kind = LrKind::linear_decay, .base = 1.0, .steps = 2, .warmup = -3}, 0) == 1.0);
}

TEST_CASE("A plan that cannot be is named", "[train][lr_plan][errors]") {
  const auto error = [](LrPlan changed, std::int64_t step = 0) {
    auto result = rate_at(changed, step);
    REQUIRE_FALSE(result.has_value());
    return result.error().message;
  };
  CHECK(error({.steps = 0}).find("steps is 0") == 0);
  CHECK(error({}, -1).find("step is -1") == 0);
  CHECK(error({.base = -1.0}).find("base is -1") == 0);
  CHECK(error({.base = std::nan("")}).find("base is nan") == 0);
  CHECK(error({.min_ratio = 1.5}).find("min_ratio is 1.5") == 0);
  CHECK(error({.min_ratio = std::nan("")}).find("min_ratio is nan") == 0);
  CHECK(parse_lr_kind("cosine_with_warmup") == LrKind::cosine_with_warmup);
  CHECK(parse_lr_kind("exponential").error().message.find("\"exponential\"") != std::string::npos);
}
