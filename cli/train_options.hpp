// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/connection.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <filesystem>
#include <string>

#include "train/run_steps.hpp"

namespace tinkaf::cli {

/// What every training is asked for, whatever its recipe.
struct TrainJob {
  std::filesystem::path data;
  std::filesystem::path out;

  /// Folder of a run or `tinker://…/weights/…` path to begin from; empty for a new adapter.
  std::string from;

  std::int32_t lora_rank = 32;

  /// Whether the rank was asked for, and is not the default.
  bool lora_rank_given = false;

  train::RunSettings settings;
};

/// The command line of a training.
struct TrainArguments {
  TrainJob job;
  ServiceArguments service;
  std::string schedule = "linear";
  bool json = false;
  bool client_metrics = false;
  bool tree = false;
};

/// Adds `--data`, `--steps`, `--out` and all else that every training takes. Defaults are what
/// `arguments` holds; it outlives the command.
/// @param rows what a row of the data looks like
void add_train_options(CLI::App& command, TrainArguments& arguments, const std::string& rows);

} // namespace tinkaf::cli
