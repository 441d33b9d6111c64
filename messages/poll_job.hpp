// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/future.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace tinkaf {

/// A result to wait for. Repeatable: asking twice for the same result is harmless.
struct PollJob {
  FutureRef future;
  RequestType type = RequestType::forward_backward;

  /// When the service accepted the operation, by the actor system's clock.
  std::chrono::steady_clock::time_point submitted;

  /// How long the submission took.
  std::optional<std::chrono::microseconds> roundtrip;

  /// Which call of the asker it belongs to, for its own use: what it gives up by.
  std::uint64_t call = 0;
};

} // namespace tinkaf
