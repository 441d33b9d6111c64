// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/datum.hpp"
#include "messages/training.hpp"

#include <functional>
#include <span>
#include <stop_token>
#include <vector>

// A loss that the user computes, from the log-probabilities that the service gives.

namespace tinkaf {

/// What a custom loss is given. Valid during the call only.
struct CustomLossInput {
  /// The batch, as it was submitted.
  std::span<const Datum> data;

  /// Log-probability of each target token under the model, in nats: one float32 tensor per datum,
  /// of the shape of its `target_tokens` ([tokens] or [tokens, K]).
  std::span<const TensorData> logprobs;

  /// Set once nobody waits for the result any more; a long computation may then end early with any
  /// error.
  std::stop_token stop;
};

/// What a custom loss makes of it.
struct CustomLossValue {
  /// The loss C of the whole batch.
  double loss = 0.0;

  /// dC/dlogprobs: one float32 tensor per datum, of the shape of its logprobs.
  std::vector<TensorData> gradients;

  /// The loss's own metrics; they win over metrics of the service of the same name.
  Metrics metrics;
};

/// Computes a loss and its gradient. Called once per batch, on a thread of its own: it may take
/// long and may throw, which fails the call it was made for and nothing else.
using CustomLossFn = std::function<Result<CustomLossValue>(const CustomLossInput&)>;

} // namespace tinkaf
