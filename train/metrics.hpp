// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/training.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "train/render.hpp"

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

/// One step of a run as a row of `metrics.jsonl`. Holds nothing that depends on the clock, so
/// that equal runs give equal rows.
struct MetricsRow {
  /// Counted from 0.
  std::size_t step = 0;

  /// Passes through the data that were complete when the step began.
  std::size_t epoch = 0;

  /// Batches of this pass that came before; not a column of its own.
  std::size_t batch_of_epoch = 0;

  /// Share of the run that is done when the step begins, in [0, 1).
  double progress = 0.0;

  double learning_rate = 0.0;
  BatchMetrics batch;

  /// What the service reported of the optimizer step.
  Metrics optimizer;
};

/// The row as one JSON object without a line end; numbers that are not finite become null.
[[nodiscard]] std::string to_json(const MetricsRow& row);

} // namespace tinkaf::train
