// SPDX-License-Identifier: Apache-2.0
#include "server/snapshot_cache.hpp"

#include <algorithm>

namespace tinkaf::server {

Result<std::shared_ptr<const Snapshot>> SnapshotCache::get(Trainer& trainer,
                                                           const WeightsFolder& folder) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const auto& entry) { return entry.first == folder; });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
    return found->second;
  }
  auto read = trainer.load_snapshot(*folder);
  if (read)
    put(folder, *read);
  return read;
}

void SnapshotCache::put(const WeightsFolder& folder, std::shared_ptr<const Snapshot> snapshot) {
  entries_.emplace_front(folder, std::move(snapshot));
  if (entries_.size() > capacity_)
    entries_.pop_back();
}

void SnapshotCache::drop_unused() {
  entries_.remove_if([](const auto& entry) { return entry.first.use_count() == 1; });
}

} // namespace tinkaf::server
