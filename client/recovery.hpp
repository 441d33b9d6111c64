// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/recovery_policy.hpp"
#include "client/service.hpp"
#include "client/training_client.hpp"
#include "messages/recovery.hpp"

#include <functional>
#include <memory>
#include <string>

namespace tinkaf {

/// A training run that is gone on with.
struct Recovery {
  /// The run that broke; its client has ended.
  std::string old_run_id;

  /// Trains the new run, from the weights of `checkpoint` on.
  TrainingClient client;

  /// A `tinker://…/weights/…` path.
  std::string checkpoint;
};

/// Who is told how recoveries end. Called on a thread of the service's, one call at a time: must
/// not block, so hand a new client on to where it is used. What they throw is dropped.
struct RecoveryHandlers {
  std::function<void(const Recovery&)> on_recovery;

  /// No further try is made for that run.
  std::function<void(const std::string& training_run_id, const Error& reason)> on_failure;

  RecoveryEventSink on_event;
};

/// Watches the training clients of a service, and goes on from a checkpoint with those that break;
/// see docs/recovery.md. Thread-safe; copies are the same, and the last one ends it. Keeps the
/// connection of its service open as long as it lives.
class RecoveryMonitor {
public:
  /// @param policy has `enabled` set
  /// @returns `Errc::invalid_argument` naming a bad field of the policy
  [[nodiscard]] static Result<RecoveryMonitor> start(const Service& service, RecoveryPolicy policy,
                                                     RecoveryHandlers handlers);

  /// Begins to watch a client; the one that takes its place is watched like it.
  /// @param checkpoint to go on from with `RecoveryStrategy::latest`; empty for the run's last
  [[nodiscard]] Result<void> watch(const TrainingClient& client, std::string checkpoint = {}) const;

  /// Stops to watch a run; a recovery under way goes on.
  void forget(const std::string& training_run_id) const;

  /// Tells how good a checkpoint is, for `RecoveryStrategy::best`.
  void rate(const std::string& training_run_id, RatedCheckpoint checkpoint) const;

  /// How the runs fare that are watched.
  [[nodiscard]] Result<RecoveryStatus> status() const;

private:
  friend struct ClientAccess;
  struct Impl;
  explicit RecoveryMonitor(std::shared_ptr<const Impl> impl);

  std::shared_ptr<const Impl> impl_;
};

} // namespace tinkaf
