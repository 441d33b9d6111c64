// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/recovery_policy.hpp"
#include "messages/interfaces.hpp"
#include "messages/notice.hpp"
#include "messages/recovery.hpp"

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

// Who watches training runs and goes on with those that break; see docs/recovery.md.

namespace tinkaf {

/// A run to watch.
struct WatchedRun {
  std::string training_run_id;

  /// Who trains it; where invalid, only the service's word on the run counts.
  TrainingClientActor client;

  /// Of `RecoveryStrategy::latest`: go on from this `tinker://…/weights/…` path; empty for the
  /// run's newest checkpoint.
  std::string checkpoint;

  /// Of `RecoveryStrategy::best`, in the order of their times.
  std::vector<RatedCheckpoint> rated;

  /// Of the new run.
  UserMetadata user_metadata;
};

/// A run that is gone on with.
struct RecoveredRun {
  std::string old_run_id;

  /// Has been told to end; invalid if there was none.
  TrainingClientActor old_client;

  std::string training_run_id;
  TrainingClientActor client;

  /// The path that it goes on from.
  std::string checkpoint;
};

/// Who is told how a recovery ended. Called in an actor: must not block; what they throw is
/// dropped.
struct RecoveryCallbacks {
  std::function<void(const RecoveredRun&)> on_recovery;

  /// No further try is made for that run.
  std::function<void(const std::string& training_run_id, const Error& reason)> on_failure;

  /// Gets every event; those that matter to people are notices as well.
  RecoveryEventSink on_event;
};

/// What the actors of a recovery have in common.
struct RecoverySettings {
  RecoveryPolicy policy;
  RecoveryCallbacks callbacks;
  NoticeSink notices;

  /// Makes the new clients.
  SessionActor session;

  /// Asked how the runs are.
  RestClientActor rest;
};

/// Asks to go on with a run.
struct RecoverRun {
  WatchedRun run;

  /// Path of the run's last checkpoint as the service told it; may be empty.
  std::string last_checkpoint;
};

/// Asks for one try.
struct RecoveryAttempt {
  RecoverRun wanted;
  std::uint32_t number = 1;

  /// Checkpoints that the service no longer has.
  std::set<std::string> refused;
};

/// What came of a try.
struct RecoveryAttemptEnd {
  /// The path that was chosen; empty if none was.
  std::string checkpoint;

  Result<RecoveredRun> result;

  /// Another try would come to the same.
  bool is_final = false;
};

/// What an executor is at work for.
struct RecoveryLoad {
  /// The tries under way.
  std::vector<caf::actor> attempts;

  /// Runs that wait for their first or next try.
  std::uint64_t waiting = 0;
};

} // namespace tinkaf

CAF_BEGIN_TYPE_ID_BLOCK(tinkaf_recovery, caf::first_custom_type_id + 1500)

  CAF_ADD_TYPE_ID(tinkaf_recovery, (tinkaf::RatedCheckpoint))
  CAF_ADD_TYPE_ID(tinkaf_recovery, (tinkaf::RecoveredRun))
  CAF_ADD_TYPE_ID(tinkaf_recovery, (tinkaf::RecoveryAttempt))
  CAF_ADD_TYPE_ID(tinkaf_recovery, (tinkaf::RecoveryAttemptEnd))
  CAF_ADD_TYPE_ID(tinkaf_recovery, (tinkaf::RecoveryLoad))
  CAF_ADD_TYPE_ID(tinkaf_recovery, (tinkaf::RecoveryStatus))
  CAF_ADD_TYPE_ID(tinkaf_recovery, (tinkaf::RecoverRun))
  CAF_ADD_TYPE_ID(tinkaf_recovery, (tinkaf::WatchedRun))

  CAF_ADD_ATOM(tinkaf_recovery, tinkaf::atom, forget, "forget")
  CAF_ADD_ATOM(tinkaf_recovery, tinkaf::atom, rate, "rate")

CAF_END_TYPE_ID_BLOCK(tinkaf_recovery)

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::RatedCheckpoint)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::RecoveredRun)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::RecoveryAttempt)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::RecoveryAttemptEnd)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::RecoveryLoad)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::RecoveryStatus)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::RecoverRun)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::WatchedRun)

namespace tinkaf {

/// Watches training runs: asks the service now and then whether they are corrupted, and monitors
/// their clients. Has the broken ones recovered, and watches the new ones in their place.
using RecoveryMonitorActor = caf::typed_actor<
    // Begins to watch a run; one that is watched already is watched anew.
    Handles<Done(WatchedRun)>,
    // Stops to watch it; a recovery under way goes on.
    Handles<void(atom::forget, std::string)>,
    // Tells how good a checkpoint of the run is.
    Handles<void(atom::rate, std::string, RatedCheckpoint)>, Handles<RecoveryStatus(atom::status)>,
    // INTERNAL: time to ask how the runs are.
    Handles<void(atom::tick)>,
    // INTERNAL: the pause before a run is handed to a new executor is over.
    Handles<void(atom::retry, std::string)>>;

/// Recovers runs, a bounded number at a time; the others wait for their turn.
using RecoveryExecutorActor = caf::typed_actor<
    // Goes on with a run from a checkpoint. Answered once there is a client that does, or with
    // `Errc::gave_up` behind the last try, `Errc::not_found` if the run has no checkpoint, or
    // `Errc::conflict` if it is being recovered already.
    Handles<RecoveredRun(RecoverRun)>, Handles<RecoveryLoad(atom::status)>,
    // INTERNAL: the pause before the next try for a run is over.
    Handles<void(atom::retry, std::string)>>;

/// One try to recover a run: chooses the checkpoint and has a client made from it. Says nothing if
/// it breaks: only an executor, which monitors it, may ask it.
using RecoveryAttemptActor = caf::typed_actor<Handles<RecoveryAttemptEnd(RecoveryAttempt)>>;

/// Tells an event to whoever wants it.
void tell(const RecoverySettings& settings, const RecoveryEvent& event);

} // namespace tinkaf
