// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <cstdint>
#include <string_view>

namespace tinkaf::train {

/// How a learning rate goes through a run, warm-up included.
enum class LrKind : std::uint8_t {
  constant,
  linear_warmup,
  linear_decay,
  cosine,
  cosine_with_warmup,
};

/// Returns the name, for example "linear_decay".
[[nodiscard]] const char* to_string(LrKind kind) noexcept;

/// Reads a name.
/// @returns `Errc::invalid_argument` with the names that exist
[[nodiscard]] Result<LrKind> parse_lr_kind(std::string_view name);

struct LrPlan {
  LrKind kind = LrKind::constant;

  /// Highest rate; finite, at least 0.
  double base = 1e-4;

  /// Steps of the run; above 0.
  std::int64_t steps = 1;

  /// Steps of the warm-up, w; taken as at most `steps` and at least 0. `constant` and `cosine` know
  /// none.
  std::int64_t warmup = 0;

  /// Share of `base` at which a decay ends, exactly on the last step; in [0, 1].
  double min_ratio = 0.0;
};

/// The rate of a step, counted from 0.
///
/// Warm-up is base·(step + 1)/w. Behind it, with t = (step − w)/(n − w − 1) in [0, 1] and
/// min = base·min_ratio, linear is base·(1 − t) + min·t and cosine min + (base − min)(1 + cos
/// πt)/2.
/// @returns `Errc::invalid_argument` naming the field that cannot be
[[nodiscard]] Result<double> rate_at(const LrPlan& plan, std::int64_t step);

} // namespace tinkaf::train
