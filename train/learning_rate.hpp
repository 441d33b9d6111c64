// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tinkaf::train {

/// How the learning rate goes through a run.
enum class LrSchedule : std::uint8_t { constant, linear, cosine };

/// Returns the name, for example "linear".
[[nodiscard]] const char* to_string(LrSchedule schedule) noexcept;

/// Reads a name.
/// @returns `Errc::invalid_argument` with the names that exist
[[nodiscard]] Result<LrSchedule> parse_lr_schedule(std::string_view name);

/// Factor of the base rate at step i of n: 1, 1 − i/n or (1 + cos(πi/n))/2.
/// @param step counted from 0
/// @param steps above 0
[[nodiscard]] double lr_factor(LrSchedule schedule, std::size_t step, std::size_t steps) noexcept;

} // namespace tinkaf::train
