// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <string>

namespace tinkaf::cli {

// CLI11's own checks of ranges print the largest double in full.

namespace detail {

template <class Accept>
CLI::Validator number_that(Accept accept, const std::string& wish) {
  return CLI::Validator{[accept, wish](const std::string& text) {
                          char* end = nullptr;
                          const double value = std::strtod(text.c_str(), &end);
                          const bool good = !text.empty() && *end == '\0' && accept(value);
                          return good ? std::string{} : "must be " + wish + ", but is " + text;
                        },
                        ""};
}

} // namespace detail

/// A number above 0.
inline CLI::Validator above_zero() {
  return detail::number_that([](double x) { return x > 0; }, "above 0");
}

/// A number of at least 0.
inline CLI::Validator at_least_zero() {
  return detail::number_that([](double x) { return x >= 0; }, "at least 0");
}

} // namespace tinkaf::cli
