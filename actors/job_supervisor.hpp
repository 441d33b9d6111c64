// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/loss_threads.hpp"
#include "actors/owed.hpp"
#include "messages/interfaces.hpp"
#include "messages/jobs.hpp"
#include "messages/restart_policy.hpp"

#include <caf/actor_system.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tinkaf {

struct JobSupervisorSettings {
  /// Jobs that run at a time; others wait. 0 means all.
  std::size_t max_running = 0;

  /// Where the functions run; threads of their own if null, which the end of the supervisor waits
  /// for up to 5 s.
  std::shared_ptr<LossThreads> threads;
};

/// Jobs by name, and the actors that run them.
struct JobSupervisorState {
  using SelfPointer = JobSupervisorActor::stateful_pointer<JobSupervisorState>;

  /// What a job was asked to do that is not done yet.
  enum class Wish : std::uint8_t { none, pause, cancel };

  struct Job {
    StartJob spec;
    std::uint64_t order = 0;
    JobStatus status;
    Wish wish = Wish::none;

    /// Runs the job; invalid if it does not run.
    TrainingJobActor child;

    /// Counts starts, so that news of an earlier one is told from news of this one.
    std::uint64_t start = 0;

    /// Whether the function of an earlier or the present start has yet to return.
    bool on_thread = false;

    /// Whether the present start was. One that stops by itself is paused: it would stop again.
    bool asked_to_stop = false;

    /// How the present start ended; absent while it runs.
    std::optional<Result<JobEnd>> outcome;

    RestartCounter restarts;
    std::vector<Owed<JobStatus>> waiters;
  };

  explicit JobSupervisorState(SelfPointer ptr) : self(ptr) {}

  /// Stops all jobs.
  ~JobSupervisorState();
  JobSupervisorState(const JobSupervisorState&) = delete;
  JobSupervisorState& operator=(const JobSupervisorState&) = delete;

  caf::result<Done> add(StartJob spec);
  caf::result<Done> pause(const std::string& job);
  caf::result<Done> resume(const std::string& job);
  caf::result<Done> cancel(const std::string& job);
  caf::result<Done> forget(const std::string& job);
  caf::typed_response_promise<JobStatus> wait(const std::string& job);
  [[nodiscard]] JobStatuses statuses() const;

  /// Starts jobs as long as there is room.
  void start_waiting();
  void start(Job& job);
  void stop(Job& job, Wish wish);
  void on_outcome(const std::string& job, std::uint64_t start, Result<JobEnd> outcome);
  void on_thread_ended(const std::string& job, std::uint64_t start);

  /// Decides what becomes of a job whose start has ended and whose function has returned.
  void go_on(Job& job);
  void settle(Job& job, JobState state);
  [[nodiscard]] Job* find(const std::string& job);
  [[nodiscard]] caf::error unknown(const std::string& job) const;

  SelfPointer self;
  JobSupervisorSettings settings;
  std::map<std::string, Job> jobs;
  std::uint64_t last_order = 0;

  static inline const char* name = "tinkaf.job-supervisor";
};

JobSupervisorActor::behavior_type job_supervisor(JobSupervisorState::SelfPointer self,
                                                 JobSupervisorSettings settings);

/// Starts a supervisor of jobs; whoever starts it ends it, which stops all of them.
[[nodiscard]] JobSupervisorActor spawn_job_supervisor(caf::actor_system& system,
                                                      JobSupervisorSettings settings = {});

} // namespace tinkaf
