// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/owed.hpp"
#include "actors/recovery.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>

namespace tinkaf {

/// Runs that are to be recovered. A try is an actor of its own: if it dies, its place is free
/// again, and the run has its next try.
struct RecoveryExecutorState {
  using SelfPointer = RecoveryExecutorActor::stateful_pointer<RecoveryExecutorState>;

  struct Job {
    RecoverRun wanted;
    Owed<RecoveredRun> answer;

    /// Tries begun.
    std::uint32_t attempts = 0;

    /// Checkpoints that are not there any more.
    std::set<std::string> refused;

    /// The try under way; invalid while the run waits.
    RecoveryAttemptActor attempt;
  };

  explicit RecoveryExecutorState(SelfPointer ptr) : self(ptr) {}

  /// Stops all tries.
  ~RecoveryExecutorState();
  RecoveryExecutorState(const RecoveryExecutorState&) = delete;
  RecoveryExecutorState& operator=(const RecoveryExecutorState&) = delete;

  caf::typed_response_promise<RecoveredRun> add(RecoverRun wanted);

  /// Begins tries while there is room.
  void start_waiting();
  void start(const std::string& run);
  void on_end(const std::string& run, RecoveryAttemptEnd end);
  void on_failure(const std::string& run, Error error, bool is_final);
  void on_down(const caf::down_msg& down);

  [[nodiscard]] RecoveryLoad load() const;

  /// Frees the place of a run's try.
  void leave(Job& job);

  SelfPointer self;
  RecoverySettings settings;

  /// A random number in [0, 1).
  std::function<double()> draw;

  std::map<std::string, Job> jobs;
  std::map<caf::actor_addr, std::string> by_attempt;
  std::deque<std::string> waiting;

  static inline const char* name = "tinkaf.recovery-executor";
};

/// @param draw gives random numbers in [0, 1) for pauses
RecoveryExecutorActor::behavior_type recovery_executor(RecoveryExecutorState::SelfPointer self,
                                                       RecoverySettings settings,
                                                       std::function<double()> draw);

} // namespace tinkaf
