// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/rest_checkpoints.hpp"
#include "messages/session.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What the REST calls tell of training runs, sessions and samplers.

namespace tinkaf {

/// Whose things to list.
enum class AccessScope : std::uint8_t {
  /// The caller's own.
  owned,
  /// All that the caller may read.
  accessible,
};

/// Returns "owned" or "accessible".
[[nodiscard]] constexpr const char* to_string(AccessScope scope) noexcept {
  return scope == AccessScope::owned ? "owned" : "accessible";
}

/// Tokens that a run has used, each counted once however often its request was sent; told by the
/// local server only.
struct TokenCounts {
  /// Of the data of passes, forward passes included.
  std::int64_t train = 0;

  /// Of prompts that its weights were sampled with, once for all samples of a request.
  std::int64_t prefill = 0;

  /// Drawn from its weights.
  std::int64_t sample = 0;

  friend bool operator==(const TokenCounts&, const TokenCounts&) = default;
};

struct TrainingRun {
  /// The same text as the model's id.
  std::string training_run_id;

  std::string base_model;
  std::string model_owner;
  bool is_lora = true;

  /// The run's state at the service is damaged: go on from a checkpoint.
  bool corrupted = false;

  std::optional<std::int32_t> lora_rank;
  Timestamp last_request_time;

  /// The newest one to train on.
  std::optional<Checkpoint> last_checkpoint;

  /// The newest one to sample from.
  std::optional<Checkpoint> last_sampler_checkpoint;

  UserMetadata user_metadata;

  /// Why it is corrupted; told by the local server only.
  std::optional<std::string> corrupted_reason;

  /// Its model is loaded, so that it can be trained on; told by the local server only.
  std::optional<bool> live = {};
  std::optional<TokenCounts> token_counts = {};

  friend bool operator==(const TrainingRun&, const TrainingRun&) = default;
};

/// One page of training runs.
struct TrainingRunsResponse {
  std::vector<TrainingRun> training_runs;
  Cursor cursor;

  friend bool operator==(const TrainingRunsResponse&, const TrainingRunsResponse&) = default;
};

/// One page of the ids of sessions.
struct ListSessionsResponse {
  std::vector<std::string> sessions;

  friend bool operator==(const ListSessionsResponse&, const ListSessionsResponse&) = default;
};

/// What was made in a session.
struct GetSessionResponse {
  std::vector<std::string> training_run_ids;
  std::vector<std::string> sampler_ids;

  friend bool operator==(const GetSessionResponse&, const GetSessionResponse&) = default;
};

/// Body of a move of a session to a project.
struct AssignSessionProjectRequest {
  std::string project_id;

  friend bool operator==(const AssignSessionProjectRequest&, const AssignSessionProjectRequest&)
      = default;
};

/// What a sampling session samples from.
struct GetSamplerResponse {
  std::string sampler_id;
  std::string base_model;

  /// Absent if it samples from the base model itself.
  std::optional<std::string> model_path;

  friend bool operator==(const GetSamplerResponse&, const GetSamplerResponse&) = default;
};

enum class TraceExportStatus : std::uint8_t { pending, ready, failed };

/// How far the export of a session's trace is.
struct TraceExportResponse {
  TraceExportStatus status = TraceExportStatus::pending;

  /// Of one that is ready: a file in Perfetto's format, to be fetched without a credential. Signed,
  /// so keep it out of logs.
  std::optional<std::string> url;

  /// Of one that has failed.
  std::optional<std::string> error;

  friend bool operator==(const TraceExportResponse&, const TraceExportResponse&) = default;
};

} // namespace tinkaf
