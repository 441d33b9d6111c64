// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/loss_threads.hpp"
#include "actors/owed.hpp"
#include "messages/interfaces.hpp"
#include "messages/jobs.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>

namespace tinkaf {

/// One start of a job: runs its function on a thread and answers how it ended. Asks the function to
/// stop when it ends itself, and does not wait for that.
struct TrainingJobState {
  explicit TrainingJobState(TrainingJobActor::stateful_pointer<TrainingJobState> ptr) : self(ptr) {}

  ~TrainingJobState();
  TrainingJobState(const TrainingJobState&) = delete;
  TrainingJobState& operator=(const TrainingJobState&) = delete;

  caf::typed_response_promise<JobEnd> run();

  TrainingJobActor::stateful_pointer<TrainingJobState> self;
  JobFn function;
  std::shared_ptr<LossThreads> threads;
  std::function<void(const JobProgress&)> report;
  std::function<void()> thread_ended;
  bool started = false;
  std::stop_source stop;
  std::optional<Owed<JobEnd>> answer;

  static inline const char* name = "tinkaf.training-job";
};

/// @param report is told how far the function is, on its thread
/// @param thread_ended called on that thread when the function has returned, whether the actor
///   still lives or not; by the actor's end if the function was never called
TrainingJobActor::behavior_type
training_job(TrainingJobActor::stateful_pointer<TrainingJobState> self, JobFn function,
             std::shared_ptr<LossThreads> threads, std::function<void(const JobProgress&)> report,
             std::function<void()> thread_ended);

} // namespace tinkaf
