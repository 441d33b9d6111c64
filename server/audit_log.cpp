// SPDX-License-Identifier: Apache-2.0
#include "server/audit_log.hpp"

#include <utility>

namespace tinkaf::server {

void AuditLog::note(std::string event, const TinkerPath& path, Timestamp now) {
  const std::lock_guard lock{mutex_};
  entries_.push_back({.timestamp = now,
                      .event = std::move(event),
                      .model_id = path.training_run_id,
                      .tinker_path = path.str()});
  if (entries_.size() > capacity_)
    entries_.pop_front();
}

AuditLogResponse AuditLog::of_day(std::chrono::sys_days day) const {
  AuditLogResponse out;
  const std::lock_guard lock{mutex_};
  for (const auto& entry : entries_)
    if (std::chrono::floor<std::chrono::days>(entry.timestamp) == day)
      out.entries.push_back(entry);
  return out;
}

} // namespace tinkaf::server
