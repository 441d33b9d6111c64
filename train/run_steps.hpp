// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>

#include "train/backend.hpp"
#include "train/learning_rate.hpp"
#include "train/recipe.hpp"
#include "train/run_folder.hpp"

namespace tinkaf::train {

/// How a run goes through its steps.
struct RunSettings {
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

/// @returns `Errc::invalid_argument` naming the setting that cannot be
[[nodiscard]] Result<void> validate(const RunSettings& settings);

/// How a run ended.
struct RunOutcome {
  /// Steps whose results are in `metrics.jsonl`.
  std::size_t steps_done = 0;

  /// True if it was stopped before its last step.
  bool stopped = false;

  /// The headline of the first and of the last step, see `RunFolder`.
  double first = 0.0;
  double last = 0.0;

  /// The last checkpoint; absent if a stopped run had no time to save.
  std::optional<CheckpointRow> checkpoint;
};

/// What a run that is in this folder has come to so far.
[[nodiscard]] RunOutcome outcome_of(const RunFolder& folder);

/// Called after each step, in order, with the row that was just written.
using OnStep = std::function<void(const StepRow&)>;

/// Goes through the steps of a recipe: submits each a step ahead of the results, writes a row of
/// metrics for each, and saves now and then and at the end. A save stands directly behind its step,
/// so that it holds that step and no other.
///
/// Begins with the first step that is not settled in `folder`, and asks for the same operations in
/// the same order whenever it begins there.
///
/// A stop ends it early: what is submitted is finished and saved, as long as `stop_grace` allows.
///
/// @param backend saves; the model as it was when that step was first submitted
/// @param rows of the data; at least one
/// @returns the first error of the service, the recipe or the folder
[[nodiscard]] Result<RunOutcome> run_steps(Recipe& recipe, Backend& backend, std::size_t rows,
                                           const RunSettings& settings, RunFolder& folder,
                                           const OnStep& on_step, std::stop_token stop);

} // namespace tinkaf::train
