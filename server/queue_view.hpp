// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/future.hpp"

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tinkaf::server {

/// What is being computed.
struct RunningWork {
  std::string request_id;
  RequestType type = RequestType::forward_backward;
  std::chrono::steady_clock::time_point since;
};

/// What there is to say of a request that is not done yet.
struct QueueView {
  QueueState state = QueueState::active;

  /// Why it waits, if it is not only for its turn.
  std::string reason;

  /// Requests of the same model or session that were accepted before it and are not done.
  std::size_t depth = 0;

  /// All requests of the server that are not done.
  std::size_t total = 0;

  /// Since it was accepted, or since the server was started.
  std::chrono::steady_clock::duration waited{0};

  /// The request itself if it is being computed, else what has been for longest.
  std::optional<RunningWork> running;
};

/// The answer "not yet" to a poll. Beside what every service says: `queue_depth`, `queue_total`,
/// `waited_sec` and, while something is computed, `running` with `type`, `seconds` and
/// `this_request`.
[[nodiscard]] std::string write_queue_view(const QueueView& view, const std::string& request_id,
                                           std::chrono::steady_clock::time_point now);

} // namespace tinkaf::server
