// SPDX-License-Identifier: Apache-2.0
#include "server/usage_table.hpp"

#include <chrono>
#include <set>

namespace tinkaf::server {

namespace {

constexpr auto kept = UsageTable::longest + std::chrono::days{1};

BillingEventInfo told(UsageTable::Kind kind, std::int64_t count) {
  switch (kind) {
  case UsageTable::Kind::trained_tokens:
    return TrainingUsage{count};
  case UsageTable::Kind::prompt_tokens:
    return SamplingPrefillUsage{.cached = false, .token_count = count};
  case UsageTable::Kind::sampled_tokens:
    return SamplingSampleUsage{count};
  default:
    return CheckpointUsage{count};
  }
}

} // namespace

void UsageTable::note(const UsageOwner& owner, Kind kind, std::int64_t count, Timestamp now) {
  const Timestamp hour = std::chrono::floor<std::chrono::hours>(now);
  const std::lock_guard lock{mutex_};
  const Key key{hour, owner.session_id, owner.base_model, owner.project_id, kind};
  const auto [found, added] = counts_.try_emplace(key, 0);
  found->second += count;
  sessions_.try_emplace(owner.session_id, owner.user_metadata);
  if (!added || std::get<Timestamp>(counts_.begin()->first) + kept > now)
    return;
  std::erase_if(counts_,
                [now](const auto& x) { return std::get<Timestamp>(x.first) + kept <= now; });
  std::set<std::string> used;
  for (const auto& [other, ignored] : counts_)
    used.insert(std::get<1>(other));
  std::erase_if(sessions_, [&](const auto& x) { return !used.contains(x.first); });
}

BillingUsageResponse UsageTable::between(Timestamp from, Timestamp before) const {
  BillingUsageResponse out;
  const std::lock_guard lock{mutex_};
  for (const auto& [key, count] : counts_) {
    const auto& [hour, session_id, base_model, project_id, kind] = key;
    if (hour < from || hour >= before)
      continue;
    auto& event = out.data.emplace_back();
    event.bucket_start = hour;
    event.bucket_end = hour + std::chrono::hours{1};
    event.base_model = base_model;
    event.user_id = "local";
    event.project_id = project_id;
    event.event_info = told(kind, count);
    if (session_id.empty())
      continue;
    event.session_id = session_id;
    out.sessions[session_id] = {sessions_.at(session_id)};
  }
  return out;
}

} // namespace tinkaf::server
