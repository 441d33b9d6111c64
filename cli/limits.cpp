// SPDX-License-Identifier: Apache-2.0
#include "cli/limits.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <system_error>
#include <utility>

namespace tinkaf::cli {

namespace {

std::string refusal(const std::string& wish, const std::string& given) {
  return fmt::format("must be {}, but is `{}`", wish, given);
}

template <class Accept>
CLI::Validator number_that(Accept accept, const std::string& wish) {
  return CLI::Validator{[accept, wish](const std::string& text) {
                          char* end = nullptr;
                          const double value = std::strtod(text.c_str(), &end);
                          const bool good = !text.empty() && *end == '\0' && std::isfinite(value)
                                            && accept(value);
                          return good ? std::string{} : refusal(wish, text);
                        },
                        ""};
}

} // namespace

CLI::Validator whole_number(std::int64_t least, std::int64_t most) {
  const auto wish = most == INT64_MAX ? fmt::format("a whole number of at least {}", least)
                                      : fmt::format("a whole number from {} to {}", least, most);
  return CLI::Validator{[=](const std::string& text) {
                          std::int64_t value = 0;
                          const auto* const end = text.data() + text.size();
                          const auto read = std::from_chars(text.data(), end, value);
                          const auto good = read.ec == std::errc{} && read.ptr == end
                                            && value >= least && value <= most;
                          return good ? std::string{} : refusal(wish, text);
                        },
                        ""};
}

CLI::Validator power_of_two() {
  return CLI::Validator{[](const std::string& text) {
                          const auto value = std::strtoull(text.c_str(), nullptr, 10);
                          return std::has_single_bit(value) ? std::string{}
                                                            : refusal("a power of two", text);
                        },
                        ""};
}

CLI::Validator not_empty() {
  return CLI::Validator{[](const std::string& text) {
                          return text.empty() ? std::string{"must not be empty"} : std::string{};
                        },
                        ""};
}

CLI::Validator above_zero() {
  return number_that([](double x) { return x > 0; }, "a number above 0");
}

CLI::Validator at_least_zero() {
  return number_that([](double x) { return x >= 0; }, "a number of at least 0");
}

CLI::Validator one_of(std::vector<std::string> words) {
  return CLI::Validator{[words = std::move(words)](const std::string& text) {
                          return std::find(words.begin(), words.end(), text) != words.end()
                                     ? std::string{}
                                     : refusal(fmt::format("one of: {}", fmt::join(words, ", ")),
                                               text);
                        },
                        ""};
}

} // namespace tinkaf::cli
