// SPDX-License-Identifier: Apache-2.0
#include "train/prompts.hpp"

#include <fmt/format.h>

#include <utility>

namespace tinkaf::train {

Result<std::vector<Prompt>>
render_prompts(const Renderer& renderer, const std::vector<DataRow>& rows, std::string_view name) {
  auto result = std::vector<Prompt>{};
  result.reserve(rows.size());
  for (const auto& row : rows) {
    const auto* pair = std::get_if<PromptCompletion>(&row.content);
    if (pair == nullptr)
      return fail(Errc::invalid_argument,
                  fmt::format("{}:{}: fields \"prompt\" and \"completion\" are missing: answers "
                              "cannot be drawn to \"messages\"",
                              name, row.line));
    auto tokens = renderer.prompt(pair->prompt);
    if (tokens.empty())
      return fail(Errc::invalid_argument,
                  fmt::format("{}:{}: field \"prompt\" is empty", name, row.line));
    result.push_back({*pair, std::move(tokens), row.line});
  }
  return result;
}

Result<void> check_lengths(const std::vector<Prompt>& prompts, std::int32_t answer,
                           std::int64_t limit, std::string_view name) {
  for (const auto& prompt : prompts)
    if (static_cast<std::int64_t>(prompt.tokens.size()) + answer > limit)
      return fail(Errc::invalid_argument,
                  fmt::format("{}:{}: the prompt has {} tokens and an answer up to {}, but the "
                              "model takes at most {}",
                              name, prompt.line, prompt.tokens.size(), answer, limit));
  return {};
}

} // namespace tinkaf::train
