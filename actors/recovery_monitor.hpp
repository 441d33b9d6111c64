// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/owed.hpp"
#include "actors/recovery.hpp"
#include "messages/restart_policy.hpp"

#include <caf/actor_system.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace tinkaf {

/// The runs that are watched. Owns the executor, and starts it again if it breaks: what that was at
/// work for is handed to the new one. Does no parsing and no I/O of its own, so that nothing here
/// can break.
struct RecoveryMonitorState {
  using SelfPointer = RecoveryMonitorActor::stateful_pointer<RecoveryMonitorState>;

  struct Entry {
    WatchedRun run;

    /// As the service told it last.
    std::string last_checkpoint;

    /// A question to the service is under way.
    bool asking = false;

    /// The last question failed.
    bool unknown = false;
    bool recovering = false;
  };

  explicit RecoveryMonitorState(SelfPointer ptr) : self(ptr) {}

  /// Stops the executor.
  ~RecoveryMonitorState();
  RecoveryMonitorState(const RecoveryMonitorState&) = delete;
  RecoveryMonitorState& operator=(const RecoveryMonitorState&) = delete;

  caf::result<Done> watch(WatchedRun run);
  void forget(const std::string& run);
  void rate(const std::string& run, RatedCheckpoint checkpoint);
  void ask_all();
  void on_run(const std::string& id, const TrainingRun& run);
  void on_poll_error(const std::string& id, const Error& error);

  /// Notes that a run has broken, and has it recovered.
  void detect(const std::string& id, const std::string& reason);
  void hand_over(const std::string& id);
  void on_recovered(RecoveredRun recovered);
  void on_given_up(const std::string& id, const Error& error);
  void on_down(const caf::down_msg& down);
  void on_executor_down(const caf::error& reason);
  [[nodiscard]] RecoveryStatus status() const;

  SelfPointer self;
  RecoverySettings settings;

  /// A random number in [0, 1).
  std::function<double()> draw;

  RecoveryExecutorActor executor;
  RestartPolicy restarts;
  RestartCounter executor_restarts;
  std::map<std::string, Entry> entries;
  std::map<caf::actor_addr, std::string> by_client;
  std::uint64_t recovered_count = 0;
  std::uint64_t given_up_count = 0;

  static inline const char* name = "tinkaf.recovery-monitor";
};

/// @param draw gives random numbers in [0, 1) for pauses
RecoveryMonitorActor::behavior_type recovery_monitor(RecoveryMonitorState::SelfPointer self,
                                                     RecoverySettings settings,
                                                     std::function<double()> draw);

/// Starts to recover runs of a session. Send the actor an exit message to end it; it ends nothing
/// of the session's.
/// @returns `Errc::invalid_argument` naming a bad setting of the policy
[[nodiscard]] Result<RecoveryMonitorActor> spawn_recovery(caf::actor_system& system,
                                                          RecoverySettings settings);

} // namespace tinkaf
