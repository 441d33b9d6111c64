// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/connection.hpp"

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

/// What a task trains, and where.
struct TrainTarget {
  const Connection& connection;

  /// With the base model of `--from`, if that was given.
  train::JobModelSettings model;

  /// The weights of `--from` to sample from; empty where there are none.
  std::string start_sampler;

  train::RunSettings settings;
};

/// How texts look to a model unless a task says otherwise; told in the model's metadata.
constexpr auto renderer_field = "renderer_name";
constexpr auto usual_renderer = "chatml";

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

  /// Renders the data and checks all that only the service can tell.
  [[nodiscard]] virtual Result<train::DurableRun> prepare(const TrainTarget& target) = 0;
};

} // namespace tinkaf::cli
