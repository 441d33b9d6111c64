// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/tinker_path.hpp"

#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace tinkaf::server {

/// The names of checkpoints that are being written. Thread-safe.
class CheckpointNames {
public:
  /// Holds a name as long as it lives.
  using Hold = std::shared_ptr<const void>;

  /// Takes a name; null if somebody holds it.
  [[nodiscard]] Hold take(const TinkerPath& path) {
    const std::lock_guard lock{state_->mutex};
    if (!state_->taken.insert(path.str()).second)
      return nullptr;
    return {static_cast<const void*>(state_.get()),
            [state = state_, name = path.str()](const void*) {
              const std::lock_guard inner{state->mutex};
              state->taken.erase(name);
            }};
  }

  [[nodiscard]] bool is_taken(const TinkerPath& path) const {
    const std::lock_guard lock{state_->mutex};
    return state_->taken.contains(path.str());
  }

private:
  struct State {
    std::mutex mutex;
    std::set<std::string> taken;
  };

  std::shared_ptr<State> state_ = std::make_shared<State>();
};

} // namespace tinkaf::server
