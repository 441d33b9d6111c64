// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include "train/backend.hpp"
#include "train/learning_rate.hpp"
#include "train/render.hpp"
#include "train/run_folder.hpp"

namespace tinkaf::train {

/// How to fine-tune.
struct SftSettings {
  /// Optimizer steps; at least 1.
  std::size_t steps = 100;

  /// Rows in a batch; at least 1.
  std::size_t batch_size = 8;

  /// Decides the order of the rows.
  std::uint64_t seed = 0;

  /// Settings of each step; `learning_rate` is the base rate of the schedule.
  AdamParams adam{.learning_rate = 1e-4, .eps = 1e-8};

  LrSchedule schedule = LrSchedule::linear;

  /// Steps submitted before the oldest one's result is awaited, beyond the first: the service
  /// always has the next step at hand. 0 switches it off.
  std::size_t submit_ahead = 1;

  /// Steps between two checkpoints to go on from; 0 saves at the end only.
  std::size_t save_every = 0;

  /// How long those are kept; the last one of a run is kept for ever.
  std::chrono::seconds checkpoint_ttl{std::chrono::hours{24 * 7}};

  /// How long a stopped run may take to finish what is submitted and to save.
  std::chrono::milliseconds stop_grace{3'000};
};

/// How a run ended.
struct SftOutcome {
  /// Steps whose results are in `metrics.jsonl`.
  std::size_t steps_done = 0;

  /// True if it was stopped before its last step.
  bool stopped = false;

  /// Mean loss per token of the first and of the last step, in nats.
  double first_nll = 0.0;
  double last_nll = 0.0;

  /// The last checkpoint; absent if a stopped run had no time to save.
  std::optional<CheckpointRow> checkpoint;
};

/// Called after each step, in order, with the row that was just written.
using OnStep = std::function<void(const MetricsRow&)>;

/// Fine-tunes on examples: submits the forward_backward and the optim_step of a batch together,
/// one step ahead of the results, writes a row of metrics for each step, and saves now and then and
/// at the end. A save stands directly behind its step, so that it holds that step and no other.
///
/// Begins with the first step that is not settled in `folder`, and asks for the same operations in
/// the same order whenever it begins there.
///
/// A stop ends it early: what is submitted is finished and saved, as long as `stop_grace` allows.
///
/// @param backend the model as it was when that step was first submitted
/// @param examples at least one
/// @returns the first error of the service or of the folder
[[nodiscard]] Result<SftOutcome> run_sft(Backend& backend, const std::vector<Example>& examples,
                                         const SftSettings& settings, RunFolder& folder,
                                         const OnStep& on_step, std::stop_token stop);

} // namespace tinkaf::train
