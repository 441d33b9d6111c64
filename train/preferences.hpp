// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "train/render.hpp"

namespace tinkaf::train {

/// A preference as the service takes it; weights are 1 on the answers.
struct Preference {
  Example chosen;
  Example rejected;
};

/// Renders all rows.
/// @param name of the file, for errors: `name:line: reason`
[[nodiscard]] Result<std::vector<Preference>>
render_preferences(const Renderer& renderer, const std::vector<PreferenceRow>& rows,
                   std::string_view name);

/// Checks that every answer fits into a model, the prompt before it and one token behind it.
/// @param limit most tokens of a sequence
/// @returns `Errc::invalid_argument` naming file, line, length and limit
[[nodiscard]] Result<void> check_lengths(const std::vector<Preference>& preferences,
                                         std::int64_t limit, std::string_view name);

} // namespace tinkaf::train
