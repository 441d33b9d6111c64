// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/session.hpp"
#include "messages/timestamp.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// What the REST calls tell of an account: who it is, what was done, what it costs.

namespace tinkaf {

/// Who a credential speaks for, by its own claims.
struct WhoamiResponse {
  /// The claim `sub`.
  std::string user_urn;

  std::optional<std::string> email;

  friend bool operator==(const WhoamiResponse&, const WhoamiResponse&) = default;
};

struct AuditLogEntry {
  Timestamp timestamp;

  /// For example "checkpoint_saved".
  std::string event;

  std::optional<std::string> model_id;
  std::optional<std::string> tinker_path;
  std::optional<std::string> purpose;

  friend bool operator==(const AuditLogEntry&, const AuditLogEntry&) = default;
};

/// What was done on one day.
struct AuditLogResponse {
  std::vector<AuditLogEntry> entries;

  friend bool operator==(const AuditLogResponse&, const AuditLogResponse&) = default;
};

struct TrainingUsage {
  std::int64_t token_count = 0;

  friend bool operator==(const TrainingUsage&, const TrainingUsage&) = default;
};

struct SamplingPrefillUsage {
  /// The prompt was in the service's cache.
  bool cached = false;
  std::int64_t token_count = 0;

  friend bool operator==(const SamplingPrefillUsage&, const SamplingPrefillUsage&) = default;
};

struct SamplingSampleUsage {
  std::int64_t token_count = 0;

  friend bool operator==(const SamplingSampleUsage&, const SamplingSampleUsage&) = default;
};

struct CheckpointUsage {
  std::int64_t count = 0;

  friend bool operator==(const CheckpointUsage&, const CheckpointUsage&) = default;
};

struct StorageUsage {
  double gigabyte_hours = 0.0;

  friend bool operator==(const StorageUsage&, const StorageUsage&) = default;
};

/// What was used.
using BillingEventInfo = std::variant<TrainingUsage, SamplingPrefillUsage, SamplingSampleUsage,
                                      CheckpointUsage, StorageUsage>;

/// What was used of one thing within one span of time.
struct BillingUsageEvent {
  Timestamp bucket_start;
  Timestamp bucket_end;
  std::optional<std::string> base_model;
  std::optional<std::string> user_id;
  std::optional<std::string> user_name;
  std::optional<std::string> session_id;
  std::optional<std::string> project_id;
  BillingEventInfo event_info;

  friend bool operator==(const BillingUsageEvent&, const BillingUsageEvent&) = default;
};

struct BillingSession {
  UserMetadata user_metadata;

  friend bool operator==(const BillingSession&, const BillingSession&) = default;
};

struct BillingUsageResponse {
  std::vector<BillingUsageEvent> data;

  /// The sessions that events name, by id.
  std::map<std::string, BillingSession> sessions;

  friend bool operator==(const BillingUsageResponse&, const BillingUsageResponse&) = default;
};

} // namespace tinkaf
