// SPDX-License-Identifier: Apache-2.0
#include "train/preferences.hpp"

#include <fmt/format.h>

#include <utility>

namespace tinkaf::train {

Result<std::vector<Preference>> render_preferences(const Renderer& renderer,
                                                   const std::vector<PreferenceRow>& rows,
                                                   std::string_view name) {
  auto result = std::vector<Preference>{};
  result.reserve(rows.size());
  for (const auto& row : rows) {
    auto chosen = renderer.render({row.line, PromptCompletion{row.prompt, row.chosen}});
    auto rejected = renderer.render({row.line, PromptCompletion{row.prompt, row.rejected}});
    for (const auto* one : {&chosen, &rejected})
      if (!*one)
        return fail(one->error().code,
                    fmt::format("{}:{}: {}", name, row.line, one->error().message));
    result.push_back({std::move(*chosen), std::move(*rejected)});
  }
  return result;
}

Result<void> check_lengths(const std::vector<Preference>& preferences, std::int64_t limit,
                           std::string_view name) {
  for (const auto& preference : preferences)
    for (const auto* example : {&preference.chosen, &preference.rejected}) {
      const auto tokens = static_cast<std::int64_t>(example->tokens()) + 1;
      if (tokens > limit)
        return fail(Errc::invalid_argument,
                    fmt::format("{}:{}: prompt and answer have {} tokens, but the model takes at "
                                "most {}",
                                name, example->line, tokens, limit));
    }
  return {};
}

} // namespace tinkaf::train
