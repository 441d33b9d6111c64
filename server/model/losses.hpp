// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/datum.hpp"
#include "messages/training.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tinkaf::model {

/// The settings of a loss, defaults filled in.
struct LossSettings {
  double clip_low_threshold = 0.8;
  double clip_high_threshold = 1.2;
  double beta = 0.05;

  /// How many of the likeliest tokens are told at each position, whatever the loss: an addition of
  /// this server, `topk_logprobs` in the settings.
  std::size_t topk_logprobs = 0;
};

/// Most of the likeliest tokens that are told at a position.
inline constexpr std::size_t most_topk_logprobs = 128;

/// Reads the settings of a loss.
/// @returns `Errc::invalid_argument` naming the unknown key, or the value and its limit
[[nodiscard]] Result<LossSettings> loss_settings(LossFn loss_fn,
                                                 const std::optional<LossFnConfig>& config);

/// What a loss needs of one datum, as dense arrays of [positions * per_position].
struct LossInputs {
  std::size_t positions = 0;
  std::size_t per_position = 1; ///< K of [tokens, K] targets
  std::vector<std::int64_t> shape;
  std::vector<std::int32_t> targets;
  std::vector<float> weights;    ///< ones if the datum has none; cross_entropy only
  std::vector<float> logprobs;   ///< of the sampler; all but cross_entropy
  std::vector<float> advantages; ///< all but cross_entropy
};

/// Reads and checks the tensors of one datum.
/// @param positions tokens of the datum's input
/// @param name what to call the datum in errors, for example "data[3]"
/// @returns `Errc::invalid_argument` naming datum, tensor, value and limit
[[nodiscard]] Result<LossInputs> read_loss_inputs(const Datum& datum, LossFn loss_fn,
                                                  std::size_t positions, std::size_t vocab_size,
                                                  const std::string& name);

/// One entry's share of the loss, and its derivative by the log-probability of the target.
struct TokenLoss {
  double loss = 0.0;
  double gradient = 0.0;
};

/// The loss of one entry; sums of them over tokens and data are `loss:sum`. With r = exp(logprob -
/// q), A the advantage, w the weight, [lo, hi] the thresholds:
///
///   cross_entropy        -w logprob
///   importance_sampling  -r A
///   ppo                  -min(r A, clip(r, lo, hi) A)
///   cispo                -clip(r, lo, hi) A logprob, the clipped ratio taken as constant
///   dro                  -(A logprob - beta/2 (logprob - q)^2)
///
/// Source: the loss definitions in the service's public documentation.
/// @param logprob of the target by the model, in nats
/// @param index entry in `inputs`
[[nodiscard]] TokenLoss token_loss(LossFn loss_fn, const LossSettings& settings,
                                   const LossInputs& inputs, std::size_t index, double logprob);

} // namespace tinkaf::model
