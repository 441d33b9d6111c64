// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/training.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

#include "train/render.hpp"
#include "train/step_row.hpp"

namespace tinkaf::train {

/// What a batch of examples and its log-probabilities tell.
struct BatchMetrics {
  std::size_t num_sequences = 0;
  std::int64_t num_tokens = 0;

  /// Tokens whose weight is above 0.
  std::int64_t num_loss_tokens = 0;

  /// −Σ(logprob·weight)/Σ weight over the whole batch, in nats; NaN if the weights sum to 0.
  double train_mean_nll = 0.0;

  /// −Σ logprob/(ln 2 · bytes) over the tokens of text whose weight is above 0; NaN if none.
  double train_mean_bpb = 0.0;
};

/// Measures a batch.
/// @param output the answer to exactly these examples, in their order
/// @returns `Errc::protocol_error` if the answer does not fit the examples
[[nodiscard]] Result<BatchMetrics> measure(std::span<const Example* const> batch,
                                           const ForwardBackwardOutput& output);

/// The columns of a step of supervised training.
/// @param optimizer what the service reported of the optimizer step
[[nodiscard]] Columns columns_of(const BatchMetrics& batch, const Metrics& optimizer);

} // namespace tinkaf::train
