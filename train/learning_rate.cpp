// SPDX-License-Identifier: Apache-2.0
#include "train/learning_rate.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace tinkaf::train {

const char* to_string(LrSchedule schedule) noexcept {
  switch (schedule) {
  case LrSchedule::constant:
    return "constant";
  case LrSchedule::linear:
    return "linear";
  case LrSchedule::cosine:
    return "cosine";
  }
  return "unknown";
}

Result<LrSchedule> parse_lr_schedule(std::string_view name) {
  for (const auto schedule : {LrSchedule::constant, LrSchedule::linear, LrSchedule::cosine})
    if (name == to_string(schedule))
      return schedule;
  return fail(Errc::invalid_argument,
              fmt::format("learning-rate schedule must be constant, linear or cosine, but is "
                          "\"{}\"",
                          name));
}

double lr_factor(LrSchedule schedule, std::size_t step, std::size_t steps) noexcept {
  const auto done = static_cast<double>(step) / static_cast<double>(steps);
  switch (schedule) {
  case LrSchedule::constant:
    return 1.0;
  case LrSchedule::linear:
    return 1.0 - done;
  case LrSchedule::cosine:
    return 0.5 * (1.0 + std::cos(std::numbers::pi * done));
  }
  return 1.0;
}

} // namespace tinkaf::train
