// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

// What values options take. CLI11's own checks show values as the program sees them, not as the
// user gave them. All say what is allowed and what was given; the option's name stands before it.

namespace tinkaf::cli {

/// The most threads that an option takes.
inline constexpr std::int64_t most_threads = 1024;

/// A whole number of a range.
[[nodiscard]] CLI::Validator whole_number(std::int64_t least, std::int64_t most = INT64_MAX);

/// A power of two; stands behind `whole_number`.
[[nodiscard]] CLI::Validator power_of_two();

/// A text with something in it: an unset variable of a shell is none.
[[nodiscard]] CLI::Validator not_empty();

/// A number above 0.
[[nodiscard]] CLI::Validator above_zero();

/// A number of at least 0.
[[nodiscard]] CLI::Validator at_least_zero();

/// One of some words.
[[nodiscard]] CLI::Validator one_of(std::vector<std::string> words);

} // namespace tinkaf::cli
