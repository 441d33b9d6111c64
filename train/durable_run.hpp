// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/notice.hpp"

#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "train/job_model.hpp"
#include "train/run_steps.hpp"

namespace tinkaf::train {

/// Makes a recipe for a model; called again when a run goes on with another one. The recipe lives
/// no longer than the model, the backend, which is its client, and the folder.
using MakeRecipe = std::function<Result<std::unique_ptr<Recipe>>(
    const JobModel& model, Backend& backend, const RunFolder& folder)>;

/// A training job that survives its process, and its service's forgetting.
struct DurableRun {
  JobModelSettings model;
  RunSettings settings;
  MakeRecipe recipe;

  /// Rows of the data; at least 1.
  std::size_t rows = 1;

  /// The column of `metrics.jsonl` that tells best how well the recipe does, see `RunFolder::open`.
  std::string headline = "train_mean_nll";

  /// Whether the settings of the recipe can be.
  Result<void> checked = {};
};

/// Looks at all settings of a run.
/// @returns `Errc::invalid_argument` naming the one that cannot be
[[nodiscard]] Result<void> validate(const DurableRun& job);

/// Trains as `run_steps` does, from where `folder` says, and to the end: when the service has lost
/// session, model or results, it goes back to the newest checkpoint by itself. Called again on the
/// same folder after an error, a stop or a killed process, it goes on; `metrics.jsonl` becomes the
/// same as without. Blocks; for one thread.
///
/// @returns at once if the run is at its end already; the error of `validate`, before anything is
///   sent; the first error that a checkpoint does not
///   cure, or one that going back has not cured three times without a step done between. After an
///   operation that failed at the service, the next call goes back to a checkpoint.
[[nodiscard]] Result<RunOutcome> run_durable(const OpenService& open, const DurableRun& job,
                                             RunFolder& folder, const OnStep& on_step,
                                             const NoticeSink& notices,
                                             const std::stop_token& stop);

} // namespace tinkaf::train
