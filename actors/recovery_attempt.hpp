// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/recovery.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <optional>
#include <string>

namespace tinkaf {

struct RecoveryAttemptState {
  using SelfPointer = RecoveryAttemptActor::stateful_pointer<RecoveryAttemptState>;

  explicit RecoveryAttemptState(SelfPointer ptr) : self(ptr) {}

  /// Ends a client that nobody has got.
  ~RecoveryAttemptState();
  RecoveryAttemptState(const RecoveryAttemptState&) = delete;
  RecoveryAttemptState& operator=(const RecoveryAttemptState&) = delete;

  void start();

  /// The checkpoint to go on from, as far as it is known without asking; empty if it is not.
  [[nodiscard]] std::string known_checkpoint() const;
  void ask_for_checkpoints();
  void on_checkpoints(const CheckpointsListResponse& list);
  void create(std::string path);
  void on_client(const TrainingClientActor& made);
  void on_open(const std::string& training_run_id);
  void tell_event(RecoveryEventKind kind, std::string detail) const;
  void finish(Result<RecoveredRun> result, bool is_final = false);

  SelfPointer self;
  RecoverySettings settings;
  RecoveryAttempt job;
  std::string checkpoint;
  TrainingClientActor client;

  // A plain promise on purpose: if the attempt breaks, its executor must not take that for an
  // answer.
  caf::typed_response_promise<RecoveryAttemptEnd> answer;

  static inline const char* name = "tinkaf.recovery-attempt";
};

RecoveryAttemptActor::behavior_type recovery_attempt(RecoveryAttemptState::SelfPointer self,
                                                     RecoverySettings settings);

} // namespace tinkaf
