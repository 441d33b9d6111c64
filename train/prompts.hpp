// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/model_input.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

#include "train/data_row.hpp"
#include "train/render.hpp"

namespace tinkaf::train {

/// A prompt that answers are drawn to.
struct Prompt {
  PromptCompletion row;

  /// What the model reads; at least one token.
  std::vector<Token> tokens;

  /// Line of the data file.
  std::size_t line = 0;
};

/// Renders the prompts of all rows.
/// @param name of the file, for errors: `name:line: reason`
/// @returns `Errc::invalid_argument` for a chat, and for a prompt without tokens
[[nodiscard]] Result<std::vector<Prompt>>
render_prompts(const Renderer& renderer, const std::vector<DataRow>& rows, std::string_view name);

/// Checks that every prompt fits into a model, with an answer behind it.
/// @param answer most tokens of an answer
/// @param limit most tokens of a sequence
/// @returns `Errc::invalid_argument` naming file, line, lengths and limit
[[nodiscard]] Result<void> check_lengths(const std::vector<Prompt>& prompts, std::int32_t answer,
                                         std::int64_t limit, std::string_view name);

} // namespace tinkaf::train
