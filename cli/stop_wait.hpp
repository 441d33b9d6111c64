// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace tinkaf::cli {

/// Sleeps until a stop is asked for.
inline void wait_for_stop(const std::stop_token& stop) {
  auto mutex = std::mutex{};
  auto changed = std::condition_variable_any{};
  auto lock = std::unique_lock{mutex};
  changed.wait(lock, stop, [] { return false; });
}

} // namespace tinkaf::cli
