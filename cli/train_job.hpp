// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/connection.hpp"
#include "cli/signals.hpp"
#include "cli/train_options.hpp"
#include "cli/train_task.hpp"

#include <cstddef>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "train/run_steps.hpp"

namespace tinkaf::cli {

/// A column in the first step and in the last.
struct ToldValue {
  ToldColumn told;
  double first = 0.0;
  double last = 0.0;
};

/// What a job has come to.
struct TrainResult {
  train::RunOutcome outcome;
  double tokens_per_second = 0.0;

  /// The headline of each step.
  std::vector<double> headlines;

  std::vector<ToldValue> told;

  /// Steps that an earlier process had done.
  std::size_t steps_before = 0;
};

/// Makes a task ready, creates the adapter or goes on with it, trains and shows the progress.
/// @param task has read its data
/// @param progress where the progress goes
[[nodiscard]] Result<TrainResult> run_job(const TrainJob& job, TrainTask& task,
                                          Connection& connection, std::FILE* progress,
                                          const StopSignals& signals);

/// What a job has come to whose run is at its end; nothing if there is something to do. Asks no
/// service.
/// @param model what it is to train; whatever it has trained if empty
/// @returns an error if the folder's run is that of another job, or in use
[[nodiscard]] Result<std::optional<TrainResult>>
finished_job(const TrainJob& job, const TrainTask& task, const std::string& model);

} // namespace tinkaf::cli
