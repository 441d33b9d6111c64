// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/service.hpp"
#include "client/training_client.hpp"
#include "messages/notice.hpp"

#include <functional>
#include <optional>
#include <string>

#include "train/run_folder.hpp"

namespace tinkaf::train {

/// Opens a session for a job: goes on with the one of the record, or with none given, a new one.
using OpenService = std::function<Result<Service>(const std::optional<SessionRecord>&)>;

/// What a job trains.
struct JobModelSettings {
  std::string base_model;

  /// A `tinker://…/weights/…` path whose weights a new model begins with, its optimizer afresh;
  /// `base_model` and `lora_config` are then those of the weights. Empty for a new adapter.
  std::string from;

  /// With a seed, so that a job that has to begin again becomes the same.
  LoraConfig lora_config;

  UserMetadata user_metadata;
};

/// A model in training, and the session that it is in.
struct JobModel {
  Service service;
  TrainingClient client;
};

/// Finds or makes the model with which a run goes on; what its client sends is written to the run's
/// journal.
///
/// The model of the run's present attempt, if its session lives. Else a new session and the newest
/// checkpoint that the service still has, or a new model if there is none: then the run goes back
/// to where that stands, and a notice says so.
///
/// @returns the error of the service or the journal; nothing is lost by calling again
[[nodiscard]] Result<JobModel> open_job_model(const OpenService& open,
                                              const JobModelSettings& settings, RunFolder& folder,
                                              const NoticeSink& notices);

/// True if an error means that a model or its results are gone, so that only a checkpoint helps.
[[nodiscard]] bool is_gone(const Error& error);

} // namespace tinkaf::train
