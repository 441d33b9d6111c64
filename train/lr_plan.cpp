// SPDX-License-Identifier: Apache-2.0
#include "train/lr_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tinkaf::train {

namespace {

tl::unexpected<Error> bad(std::string message) {
  return fail(Errc::invalid_argument, std::move(message));
}

Result<void> check(const LrPlan& plan, std::int64_t step) {
  if (plan.steps <= 0)
    return bad(fmt::format("steps is {}, but must be above 0", plan.steps));
  if (step < 0)
    return bad(fmt::format("step is {}, but must be at least 0", step));
  if (!std::isfinite(plan.base) || plan.base < 0.0)
    return bad(fmt::format("base is {}, but must be a number from 0 on", plan.base));
  if (!(plan.min_ratio >= 0.0 && plan.min_ratio <= 1.0))
    return bad(fmt::format("min_ratio is {}, but must be in [0, 1]", plan.min_ratio));
  return {};
}

bool has_warmup(LrKind kind) {
  return kind != LrKind::constant && kind != LrKind::cosine;
}

} // namespace

const char* to_string(LrKind kind) noexcept {
  switch (kind) {
  case LrKind::constant:
    return "constant";
  case LrKind::linear_warmup:
    return "linear_warmup";
  case LrKind::linear_decay:
    return "linear_decay";
  case LrKind::cosine:
    return "cosine";
  case LrKind::cosine_with_warmup:
    return "cosine_with_warmup";
  }
  return "unknown";
}

Result<LrKind> parse_lr_kind(std::string_view name) {
  for (const auto kind : {LrKind::constant, LrKind::linear_warmup, LrKind::linear_decay,
                          LrKind::cosine, LrKind::cosine_with_warmup})
    if (name == to_string(kind))
      return kind;
  return bad(fmt::format("learning-rate kind must be constant, linear_warmup, linear_decay, cosine "
                         "or cosine_with_warmup, but is \"{}\"",
                         name));
}

Result<double> rate_at(const LrPlan& plan, std::int64_t step) {
  if (auto checked = check(plan, step); !checked)
    return fail(std::move(checked.error()));
  const auto warmup
      = has_warmup(plan.kind) ? std::clamp<std::int64_t>(plan.warmup, 0, plan.steps) : 0;
  if (step < warmup)
    return plan.base * static_cast<double>(step + 1) / static_cast<double>(warmup);
  const auto decay = std::max<std::int64_t>(1, plan.steps - warmup - 1);
  const auto t
      = std::clamp(static_cast<double>(step - warmup) / static_cast<double>(decay), 0.0, 1.0);
  const auto least = plan.base * plan.min_ratio;
  switch (plan.kind) {
  case LrKind::constant:
  case LrKind::linear_warmup:
    return plan.base;
  case LrKind::linear_decay:
    return plan.base * (1.0 - t) + least * t;
  case LrKind::cosine:
  case LrKind::cosine_with_warmup:
    return least + 0.5 * (plan.base - least) * (1.0 + std::cos(std::numbers::pi * t));
  }
  return plan.base;
}

} // namespace tinkaf::train
