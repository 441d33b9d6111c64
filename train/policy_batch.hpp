// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/sampling.hpp"
#include "messages/training.hpp"

#include <span>
#include <vector>

namespace tinkaf::train {

/// An answer that was drawn, and how much more or less likely each of its tokens is to become.
struct Rollout {
  /// At least one token.
  std::span<const Token> prompt;

  /// At least one token, a log-probability each.
  SampledSequence answer;

  /// One a token of the answer.
  std::vector<float> advantages;
};

/// Checks that an answer has tokens, and a log-probability for each.
[[nodiscard]] Result<void> check_answer(const SampledSequence& answer);

/// A rollout as importance_sampling takes it: the model reads the prompt and the answer without its
/// last token; `target_tokens`, `logprobs` and `advantages` are 0 where it predicts the prompt.
/// Shape of all: [prompt + answer − 1].
[[nodiscard]] Datum policy_datum(const Rollout& rollout);

/// How far the model that is trained is from the one that was drawn from, over tokens of answers.
struct SampleTrainKl {
  /// Mean of the sampled less the trained log-probability; NaN without tokens.
  double v1 = 0.0;

  /// Half the mean of its square.
  double v2 = 0.0;
};

/// @param output the answer to exactly these rollouts, in their order
/// @returns `Errc::protocol_error` if it does not fit
[[nodiscard]] Result<SampleTrainKl> measure_kl(std::span<const Rollout> rollouts,
                                               const ForwardBackwardOutput& output);

} // namespace tinkaf::train
