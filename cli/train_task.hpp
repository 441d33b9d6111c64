// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/connection.hpp"
#include "text/tokenizer.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "journal/job_journal.hpp"
#include "train/durable_run.hpp"

namespace tinkaf::cli {

/// A column of `metrics.jsonl` that is told at the end, as it was in the first and the last step.
struct ToldColumn {
  std::string column;

  /// What people call it.
  std::string name;
};

/// Where a task runs.
struct TrainTarget {
  const Connection& connection;
  std::string base_model;

  /// Resolved `--from`, and the same weights to sample from; empty where there is none.
  std::string start_state;
  std::string start_sampler;
};

/// A task made ready for a service.
struct PreparedTask {
  std::size_t rows = 1;
  train::MakeRecipe recipe;

  /// How texts look to the model; stored with the training run.
  std::string renderer = "chatml";
};

/// A recipe and its own options, as what all trainings have in common sees them.
class TrainTask {
public:
  virtual ~TrainTask() = default;

  /// The word behind `tinkaf train`.
  [[nodiscard]] virtual std::string name() const = 0;

  /// Columns that are told; the first is the headline, see `train::RunFolder`.
  [[nodiscard]] virtual std::vector<ToldColumn> told() const = 0;

  /// Reads the data, before anything is started.
  [[nodiscard]] virtual Result<void> read(const std::filesystem::path& data) = 0;

  /// Options of its own that its results depend on. Asks no service.
  [[nodiscard]] virtual Result<JobIdentity> options(const std::string& base_model) const = 0;

  /// Renders the data and checks all that only the service can tell. What it returns lives no
  /// longer than this.
  [[nodiscard]] virtual Result<PreparedTask> prepare(const TrainTarget& target) = 0;
};

} // namespace tinkaf::cli
