// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/rest_usage.hpp"
#include "messages/tinker_path.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>

namespace tinkaf::server {

/// What was done to checkpoints since the server started, the last `capacity` events. Thread-safe.
class AuditLog {
public:
  explicit AuditLog(std::size_t capacity) : capacity_(capacity) {}

  /// @param event for example "checkpoint_saved"
  void note(std::string event, const TinkerPath& path, Timestamp now);

  /// The events of a day in UTC, oldest first.
  [[nodiscard]] AuditLogResponse of_day(std::chrono::sys_days day) const;

private:
  std::size_t capacity_;
  mutable std::mutex mutex_;
  std::deque<AuditLogEntry> entries_;
};

} // namespace tinkaf::server
