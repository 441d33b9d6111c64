// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/state_folder.hpp"
#include "server/trainer.hpp"

#include <cstddef>
#include <list>
#include <memory>
#include <utility>

namespace tinkaf::server {

/// The weights that were last sampled from, ready to run. Holds their folders. Not thread-safe.
class SnapshotCache {
public:
  explicit SnapshotCache(std::size_t capacity) : capacity_(capacity) {}

  /// The weights in a folder, read if they are not here.
  [[nodiscard]] Result<std::shared_ptr<const Snapshot>> get(Trainer& trainer,
                                                            const WeightsFolder& folder);

  void put(const WeightsFolder& folder, std::shared_ptr<const Snapshot> snapshot);

  /// Lets go of the weights whose folder nobody else holds.
  void drop_unused();

private:
  std::size_t capacity_;
  std::list<std::pair<WeightsFolder, std::shared_ptr<const Snapshot>>> entries_; // latest first
};

} // namespace tinkaf::server
