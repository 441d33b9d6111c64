// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/connection.hpp"
#include "cli/train_options.hpp"
#include "cli/train_task.hpp"

#include <string>

#include "train/start_point.hpp"

// Weights that options name: those that a training begins from, those of a reference or a teacher.

namespace tinkaf::cli {

/// Where `--from` leads; nothing if it was not given. Asks no service.
/// @returns an error that begins with the option
[[nodiscard]] Result<train::StartPoint> find_start(const TrainJob& job);

/// The model that a job trains: that of `--from`, else the chosen one.
/// @returns an error naming `--from`, `--model` or `--lora-rank` and what does not fit
[[nodiscard]] Result<TrainTarget> find_target(const TrainJob& job, const Connection& connection);

/// Weights to sample from as `Service::create_sampling_client` takes them.
/// @param option its name, for errors
/// @param value a base model, the folder of a run, or a `tinker://…/sampler_weights/…` path
/// @returns an error that begins with the option; asks no service
[[nodiscard]] Result<std::string> find_sampler(const std::string& option, const std::string& value);

/// The base model of weights that `find_sampler` has found.
[[nodiscard]] Result<std::string>
base_model_of(const Connection& connection, const std::string& option, const std::string& sampler);

} // namespace tinkaf::cli
