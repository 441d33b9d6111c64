// SPDX-License-Identifier: Apache-2.0
#include "cli/loss_curve.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace tinkaf::cli {

namespace {

/// Mean of the finite values of each of `count` equal parts; NaN for a part without any.
std::vector<double> part_means(std::span<const double> values, std::size_t count) {
  auto means = std::vector<double>{};
  for (std::size_t part = 0; part < count; ++part) {
    const auto first = part * values.size() / count;
    const auto last = std::max(first + 1, (part + 1) * values.size() / count);
    auto sum = 0.0;
    auto number = 0;
    for (const auto value : values.subspan(first, last - first)) {
      if (std::isfinite(value)) {
        sum += value;
        ++number;
      }
    }
    means.push_back(number > 0 ? sum / number : std::numeric_limits<double>::quiet_NaN());
  }
  return means;
}

} // namespace

std::string loss_curve(std::span<const double> losses, std::size_t columns, std::size_t rows) {
  constexpr std::size_t label = 9;
  if (losses.empty() || columns <= label + 10)
    return {};
  const auto means = part_means(losses, std::min(columns - label, losses.size()));
  auto highest = 0.0;
  for (const auto mean : means)
    if (std::isfinite(mean))
      highest = std::max(highest, mean);
  if (highest <= 0.0)
    highest = 1.0;

  auto result = std::string{};
  for (std::size_t row = 0; row < rows; ++row) {
    const auto level
        = highest * static_cast<double>(rows - 1 - row) / static_cast<double>(rows - 1);
    result += fmt::format("{:>7.3f} |", level);
    auto line = std::string{};
    for (const auto mean : means) {
      const auto height = std::lround(mean / highest * static_cast<double>(rows - 1));
      const auto here = std::isfinite(mean) && height == static_cast<long>(rows - 1 - row);
      line += here ? '*' : ' ';
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + "\n";
  }
  result += std::string(label - 1, ' ') + "+" + std::string(means.size(), '-') + "\n";
  const auto last = fmt::format("step {}", losses.size());
  const auto gap = means.size() > last.size() + 1 ? means.size() - last.size() - 1 : 1;
  result += std::string(label, ' ') + "1" + std::string(gap, ' ') + last + "\n";
  return result;
}

} // namespace tinkaf::cli
