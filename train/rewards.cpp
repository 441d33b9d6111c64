// SPDX-License-Identifier: Apache-2.0
#include "train/rewards.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tinkaf::train {

double exact_reward(const PromptCompletion& row, std::string_view answer) {
  return answer == row.completion ? 1.0 : 0.0;
}

double prefix_reward(const PromptCompletion& row, std::string_view answer) {
  const auto& wanted = row.completion;
  if (wanted.empty())
    return answer.empty() ? 1.0 : 0.0;
  const auto common = std::mismatch(wanted.begin(), wanted.end(), answer.begin(), answer.end());
  const auto length = static_cast<double>(wanted.size());
  const auto matched = static_cast<double>(common.first - wanted.begin()) / length;
  if (matched < 1.0)
    return matched;
  const auto surplus = static_cast<double>(answer.size()) - length;
  return std::max(0.5, 1.0 - surplus / length);
}

Result<RewardFn> parse_reward(std::string_view name) {
  if (name == "exact")
    return exact_reward;
  if (name == "prefix")
    return prefix_reward;
  return fail(Errc::invalid_argument,
              fmt::format("unknown reward \"{}\": it is exact or prefix", name));
}

} // namespace tinkaf::train
