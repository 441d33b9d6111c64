// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/rest_runs.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// What a REST client is asked for.

namespace tinkaf {

/// Names a checkpoint by its run and its id.
struct CheckpointRef {
  std::string training_run_id;

  /// `weights/<name>` or `sampler_weights/<name>`.
  std::string checkpoint_id;

  /// Reads a `tinker://` path.
  /// @returns `Errc::invalid_argument` that says which part is wrong
  [[nodiscard]] static Result<CheckpointRef> from_tinker_path(std::string_view path) {
    return TinkerPath::parse(path).map([](const TinkerPath& x) {
      return CheckpointRef{x.training_run_id, x.checkpoint_id()};
    });
  }

  friend bool operator==(const CheckpointRef&, const CheckpointRef&) = default;
};

/// The service has done as asked; there is nothing more to tell.
struct Done {
  friend bool operator==(const Done&, const Done&) = default;
};

struct GetTrainingRun {
  std::string training_run_id;
  AccessScope access_scope = AccessScope::owned;
};

struct ListTrainingRuns {
  std::int64_t limit = 20;
  std::int64_t offset = 0;
  AccessScope access_scope = AccessScope::owned;

  /// Runs of this project only.
  std::optional<std::string> project_id;
};

/// Asks for all checkpoints of a run.
struct ListCheckpoints {
  std::string training_run_id;
};

/// Asks for a page of the checkpoints of all runs, newest first.
struct ListUserCheckpoints {
  std::int64_t limit = 100;
  std::int64_t offset = 0;
};

struct DeleteCheckpoint {
  CheckpointRef checkpoint;
};

struct PublishCheckpoint {
  CheckpointRef checkpoint;
};

struct UnpublishCheckpoint {
  CheckpointRef checkpoint;
};

/// Changes when a checkpoint expires; its data stays as it is.
struct SetCheckpointTtl {
  CheckpointRef checkpoint;

  /// Time to live from now on, more than zero; absent keeps the checkpoint for ever.
  std::optional<std::chrono::seconds> ttl;
};

struct GetCheckpointArchiveUrl {
  CheckpointRef checkpoint;
};

struct GetSession {
  std::string session_id;
  AccessScope access_scope = AccessScope::owned;
};

struct ListSessions {
  std::int64_t limit = 20;
  std::int64_t offset = 0;
  AccessScope access_scope = AccessScope::owned;
};

struct AssignSessionProject {
  std::string session_id;
  std::string project_id;
};

/// Has a session's trace exported.
struct ExportSessionTrace {
  std::string session_id;

  /// How long to wait for the export; it goes on at the service behind that.
  std::chrono::seconds patience{1'800};
};

struct GetSampler {
  std::string sampler_id;
};

/// Which events of an audit log to tell; the service knows no difference between the two so far.
enum class AuditEventType : std::uint8_t { all, checkpoints };

struct GetAuditLog {
  AuditEventType event_type = AuditEventType::all;

  /// A day of UTC; the present one if absent.
  std::optional<std::chrono::year_month_day> day;
};

/// Asks what was used in [starting_on, ending_before): both whole hours, at most 14 days apart.
struct GetBillingUsage {
  Timestamp starting_on;
  Timestamp ending_before;
};

} // namespace tinkaf
