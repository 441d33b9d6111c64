// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/model_input.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tinkaf {

/// When a sample ends early: never, at a text, at one of several texts, or at one of several
/// tokens.
using Stop
    = std::variant<std::monostate, std::string, std::vector<std::string>, std::vector<Token>>;

/// How to draw tokens. Which defaults: those of the official SDK.
struct SamplingParams {
  /// Upper bound of new tokens; up to the context limit if absent.
  std::optional<std::int32_t> max_tokens;

  /// Same seed, prompt and weights give the same tokens; drawn by the service if absent.
  std::optional<std::int64_t> seed;

  Stop stop;

  /// Logits are divided by it; 0 takes the likeliest token.
  double temperature = 1.0;

  /// Keep only the likeliest k tokens; -1 switches it off.
  std::int32_t top_k = -1;

  /// Keep the smallest set of tokens whose probability reaches this, in (0, 1].
  double top_p = 1.0;

  friend bool operator==(const SamplingParams&, const SamplingParams&) = default;
};

/// Checks every field; the error names the first bad one and its value.
[[nodiscard]] Result<void> validate(const SamplingParams& params);

/// Asks for continuations of one prompt.
struct SampleRequest {
  ModelInput prompt;

  /// Independent continuations; at least 1.
  std::int32_t num_samples = 1;

  SamplingParams sampling_params;

  /// Also return the log-probability of each prompt token.
  bool include_prompt_logprobs = false;

  /// Also return the k likeliest tokens at each prompt position; 0 for none.
  std::int32_t topk_prompt_logprobs = 0;

  friend bool operator==(const SampleRequest&, const SampleRequest&) = default;
};

/// Checks every field that can be checked without the model.
[[nodiscard]] Result<void> validate(const SampleRequest& request);

enum class StopReason : std::uint8_t { stop, length };

/// Returns "stop" or "length".
[[nodiscard]] const char* to_string(StopReason reason) noexcept;

/// One continuation.
struct SampledSequence {
  StopReason stop_reason = StopReason::length;

  /// New tokens, the stop token included.
  std::vector<Token> tokens;

  /// Log-probability of each new token at the sampling temperature, in nats. Shape: [tokens].
  std::optional<std::vector<float>> logprobs;

  friend bool operator==(const SampledSequence&, const SampledSequence&) = default;
};

/// A token and its log-probability.
using TokenLogprob = std::pair<Token, float>;

/// Answer to a `SampleRequest`.
struct SampleResponse {
  std::vector<SampledSequence> sequences;

  /// One entry per prompt token, the first empty; at temperature 1, in nats.
  std::optional<std::vector<std::optional<float>>> prompt_logprobs;

  /// Per prompt token the likeliest tokens, likeliest first; the first position is empty.
  std::optional<std::vector<std::optional<std::vector<TokenLogprob>>>> topk_prompt_logprobs;

  /// Prompt tokens that the service billed as cache hits.
  std::int32_t prompt_cache_hit_tokens = 0;

  friend bool operator==(const SampleResponse&, const SampleResponse&) = default;
};

} // namespace tinkaf
