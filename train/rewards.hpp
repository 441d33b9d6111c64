// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <functional>
#include <string_view>

#include "train/data_row.hpp"

namespace tinkaf::train {

/// How good an answer to a row's prompt is: the more the better, finite. Called by one thread at a
/// time. A function of its arguments alone, so that a run that goes on judges as before.
using RewardFn = std::function<double(const PromptCompletion& row, std::string_view answer)>;

/// 1 if the answer is the completion, else 0.
[[nodiscard]] double exact_reward(const PromptCompletion& row, std::string_view answer);

/// The share of the completion, in bytes, that the answer begins with; an empty completion is
/// matched by an empty answer alone. An answer that goes on behind the whole completion gets as
/// much less than 1 as it has bytes too many, but not less than 1/2.
[[nodiscard]] double prefix_reward(const PromptCompletion& row, std::string_view answer);

/// The function of that name, "exact" or "prefix".
/// @returns `Errc::invalid_argument` with the names that exist
[[nodiscard]] Result<RewardFn> parse_reward(std::string_view name);

} // namespace tinkaf::train
