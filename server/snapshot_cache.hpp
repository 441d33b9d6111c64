// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/trainer.hpp"

#include <cstddef>
#include <filesystem>
#include <list>
#include <memory>
#include <utility>

namespace tinkaf::server {

/// The weights that were last sampled from, ready to run. Not thread-safe.
class SnapshotCache {
public:
  explicit SnapshotCache(std::size_t capacity) : capacity_(capacity) {}

  /// The weights in a folder, read if they are not here.
  [[nodiscard]] Result<std::shared_ptr<const Snapshot>> get(Trainer& trainer,
                                                            const std::filesystem::path& folder);

  void put(const std::filesystem::path& folder, std::shared_ptr<const Snapshot> snapshot);
  void drop(const std::filesystem::path& folder);

private:
  std::size_t capacity_;
  std::list<std::pair<std::filesystem::path, std::shared_ptr<const Snapshot>>>
      entries_; // latest first
};

} // namespace tinkaf::server
