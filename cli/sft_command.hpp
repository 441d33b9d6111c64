// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/connection.hpp"
#include "cli/signals.hpp"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "train/sft.hpp"

namespace tinkaf::cli {

/// A fine-tuning job as the command line states it.
struct SftJob {
  std::filesystem::path data;
  std::filesystem::path out;
  std::int32_t lora_rank = 32;

  /// How chats look to the model; by the model's name if empty.
  std::string renderer;
  train::RunSettings settings;
};

/// What a job has come to.
struct SftJobResult {
  train::RunOutcome outcome;
  double tokens_per_second = 0.0;

  /// Mean loss per token of each step, in nats.
  std::vector<double> losses;

  /// Steps that an earlier process had done.
  std::size_t steps_before = 0;
};

/// Renders the rows, creates the adapter or goes on with it, trains and shows the progress.
/// @param rows of `job.data`, read before anything was started
/// @param progress where the progress goes
[[nodiscard]] Result<SftJobResult> run_job(const SftJob& job,
                                           const std::vector<train::DataRow>& rows,
                                           Connection& connection, std::FILE* progress,
                                           const StopSignals& signals);

/// What a job has come to whose run is at its end; nothing if there is something to do. Asks no
/// service.
/// @param model what it is to train; whatever it has trained if empty
/// @returns an error if the folder's run is that of another job, or in use
[[nodiscard]] Result<std::optional<SftJobResult>> finished_job(const SftJob& job,
                                                               const std::string& model);

} // namespace tinkaf::cli
