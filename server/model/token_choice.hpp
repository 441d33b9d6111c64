// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/sampling.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tinkaf::model {

/// A token that may be drawn.
struct Candidate {
  std::int32_t token = 0;
  double probability = 0.0;
};

/// The distribution a token is drawn from: temperature, then the `top_k` likeliest, then the
/// smallest set of these that reaches `top_p`, made to sum to 1. Likeliest first; among equals the
/// lower id. At temperature 0 it is the likeliest token alone.
[[nodiscard]] std::vector<Candidate> candidates(std::span<const float> logits,
                                                const SamplingParams& params);

/// Takes the candidate at `point`, uniform in [0, 1), of the cumulative distribution.
[[nodiscard]] std::int32_t pick(std::span<const Candidate> from, double point);

/// A drawn token and its `tempered_logprob`.
struct Drawn {
  std::int32_t token = 0;
  float logprob = 0.0F;
};

/// Draws a token from the distribution of `candidates`; `point` is uniform in [0, 1). Without
/// filters tokens need not be put in order, and the cumulative distribution runs by id.
[[nodiscard]] Drawn draw(std::span<const float> logits, const SamplingParams& params, double point);

/// Log-probability of a token at the sampling temperature, whatever the filters, in nats. At
/// temperature 0 it is the one at temperature 1.
[[nodiscard]] float tempered_logprob(std::span<const float> logits, std::int32_t token,
                                     double temperature);

/// The k likeliest tokens with their log-probabilities at temperature 1, likeliest first.
[[nodiscard]] std::vector<TokenLogprob> likeliest(std::span<const float> logits, std::size_t k);

} // namespace tinkaf::model
