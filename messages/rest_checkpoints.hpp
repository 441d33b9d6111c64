// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/timestamp.hpp"
#include "messages/tinker_path.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

// What the REST calls tell of checkpoints.

namespace tinkaf {

/// Where in a longer list a page stands.
struct Cursor {
  /// Entries before the page.
  std::int64_t offset = 0;

  /// Entries that the page could hold.
  std::int64_t limit = 0;

  /// Entries of the whole list when the page was made.
  std::int64_t total_count = 0;

  friend bool operator==(const Cursor&, const Cursor&) = default;
};

struct Checkpoint {
  /// `weights/<name>` or `sampler_weights/<name>`.
  std::string checkpoint_id;

  CheckpointKind checkpoint_type = CheckpointKind::training;
  Timestamp time;

  /// `tinker://<run>/<checkpoint_id>`.
  std::string tinker_path;

  std::optional<std::int64_t> size_bytes;

  /// Anyone with an account may load it.
  bool is_public = false;

  /// Absent if it is kept for ever.
  std::optional<Timestamp> expires_at;

  /// Free text by name that was given when it was saved.
  std::map<std::string, std::string> user_metadata;

  friend bool operator==(const Checkpoint&, const Checkpoint&) = default;
};

/// Checkpoints of a run (whole, without a cursor) or of a user (a page, newest first).
struct CheckpointsListResponse {
  std::vector<Checkpoint> checkpoints;
  std::optional<Cursor> cursor;

  friend bool operator==(const CheckpointsListResponse&, const CheckpointsListResponse&) = default;
};

/// Body of a change of a checkpoint's expiry.
struct CheckpointTtlRequest {
  /// Time to live from now on; absent keeps the checkpoint for ever.
  std::optional<std::chrono::seconds> ttl;

  friend bool operator==(const CheckpointTtlRequest&, const CheckpointTtlRequest&) = default;
};

/// Where a checkpoint's archive can be fetched.
struct CheckpointArchiveUrlResponse {
  /// Signed: whoever holds it may fetch the archive, so keep it out of logs.
  std::string url;

  /// When `url` ends to work.
  Timestamp expires;

  friend bool operator==(const CheckpointArchiveUrlResponse&, const CheckpointArchiveUrlResponse&)
      = default;
};

struct WeightsInfoRequest {
  std::string tinker_path;

  friend bool operator==(const WeightsInfoRequest&, const WeightsInfoRequest&) = default;
};

/// What a checkpoint says of the model that it was made of; also told of others' public ones.
struct WeightsInfoResponse {
  std::string base_model;
  bool is_lora = true;
  std::optional<std::int32_t> lora_rank;

  // Which layers were trained; absent where the service does not say.
  std::optional<bool> train_unembed;
  std::optional<bool> train_mlp;
  std::optional<bool> train_attn;

  friend bool operator==(const WeightsInfoResponse&, const WeightsInfoResponse&) = default;
};

} // namespace tinkaf
