// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/training.hpp"
#include "server/journal/record_log.hpp"
#include "server/operation_queue.hpp"
#include "server/state_folder.hpp"
#include "server/trainer.hpp"
#include "server/work_queue.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// What a service works on. "Tables" are what the mutex of the core guards.

namespace tinkaf::server {

/// A model in training.
struct Model {
  const std::string id;
  const std::string session_id;

  /// Among those of its session.
  const std::int64_t number;
  const std::shared_ptr<Trainer> trainer;
  const LoraConfig config;
  const std::shared_ptr<RecordLog> log;

  // Of the tables.
  OperationQueue queue = {};
  std::size_t unfinished = 0; // operations
  std::int64_t unnumbered_saves = 0;

  /// Of a model of an earlier server: the work that makes it what it was, and what is to be done
  /// behind that. Begun when somebody uses the model.
  std::optional<std::vector<WorkQueue::Work>> asleep = {};

  /// It sleeps at least until then, as somebody wants it for a test.
  std::optional<std::chrono::steady_clock::time_point> held_until = {};

  /// It sleeps since there are as many models as the server holds.
  bool waits_for_room = false;

  // Of the compute thread.
  std::unique_ptr<TrainedModel> trained = nullptr;
  Error missing = {}; // why there is none

  /// What is computed was computed by an earlier server, and its results are known.
  bool repeating = false;

  /// Computed since the state was stored.
  std::chrono::nanoseconds unsaved{0};

  /// What storing it took.
  std::chrono::nanoseconds storing{0};

  /// Store it behind this operation.
  bool store_now = false;

  /// Name and number of the stored state; the name is empty if there is none.
  std::string stored = {};
  std::int64_t stored_count = 0;
};

/// Something to sample from.
struct Sampler {
  /// Names its lane.
  std::string id;
  std::string session_id;
  std::shared_ptr<Trainer> trainer;

  /// Null for the base itself.
  WeightsFolder weights = nullptr;

  /// The run that the weights are of; empty for the base itself.
  std::string run_id = {};

  /// The checkpoint that the weights are from, if they are.
  std::optional<std::string> model_path = {};

  /// Of that checkpoint: the same text, the same weights.
  std::string version = {};

  /// Where a later server finds the weights; null if nowhere.
  WeightsFolder kept = nullptr;

  /// Of its session, or that of samples without one.
  std::shared_ptr<RecordLog> log = nullptr;

  struct Known {
    std::string digest;
    std::string request_id;
  };

  /// By number. Of the tables.
  std::map<std::int64_t, Known> samples = {};
};

} // namespace tinkaf::server
