// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/sampling_client.hpp"

#include <cstddef>
#include <stop_token>
#include <string>
#include <vector>

#include "train/data_row.hpp"
#include "train/render.hpp"

namespace tinkaf::cli {

/// What a model answered to prompts whose right answers are known.
struct HeldOutResult {
  /// Answers in the order of the rows, at temperature 0.
  std::vector<std::string> answers;

  /// How many of them are exactly right.
  std::size_t exact = 0;

  [[nodiscard]] double share() const noexcept {
    return answers.empty() ? 0.0 : static_cast<double>(exact) / static_cast<double>(answers.size());
  }
};

/// Asks for all answers at once and compares them with the completions.
/// @param rows prompts with completions; others are refused
/// @returns `Errc::cancelled` soon after a stop was asked for
[[nodiscard]] Result<HeldOutResult> try_held_out(const SamplingClient& client,
                                                 const std::vector<train::DataRow>& rows,
                                                 const train::Renderer& renderer,
                                                 std::stop_token stop);

/// A drawn sequence as text, without the token that ended it.
[[nodiscard]] std::string text_of(const SampledSequence& sequence,
                                  const text::Tokenizer& tokenizer);

} // namespace tinkaf::cli
