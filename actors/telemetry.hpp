// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/owed.hpp"
#include "messages/interfaces.hpp"
#include "messages/telemetry.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tinkaf {

struct TelemetrySettings {
  std::string session_id;

  /// Events that may wait; further ones are dropped and counted.
  std::size_t max_queue = 10'000;

  std::size_t max_batch = 100;
  std::chrono::milliseconds flush_interval{10'000};
  std::chrono::milliseconds request_timeout{5'000};

  /// Pause after a failed try; doubles with each.
  std::chrono::milliseconds first_pause{1'000};
  std::chrono::milliseconds max_pause{60'000};

  /// Tries of one batch; then its events are dropped.
  std::uint32_t max_tries = 5;

  std::function<std::chrono::system_clock::time_point()> wall_clock
      = std::chrono::system_clock::now;
};

/// Collects reports and sends them in batches, one at a time. Nobody waits for it and nothing
/// depends on it: what cannot be sent is dropped.
struct TelemetryState {
  using SelfPointer = TelemetryActor::stateful_pointer<TelemetryState>;

  explicit TelemetryState(SelfPointer ptr) : self(ptr) {}

  void on_report(const TelemetryReport& report);
  void flush();
  void send();
  void on_status(int status);
  void on_failure();
  void drop_batch();
  void switch_off();
  caf::typed_response_promise<bool> drain(std::chrono::milliseconds limit);
  void settle_drain(bool all_sent);

  [[nodiscard]] bool idle() const noexcept {
    return queue.empty() && batch.empty();
  }

  SelfPointer self;
  HttpActor http;
  TelemetrySettings settings;
  std::chrono::steady_clock::time_point began;
  std::deque<TelemetryEvent> queue;

  /// On its way, or waiting for its next try.
  std::vector<TelemetryEvent> batch;
  bool sending = false;
  bool pausing = false;
  std::uint32_t tries = 0;

  std::int64_t next_index = 0;
  TelemetryStatus status;
  std::optional<Owed<bool>> drained;

  static inline const char* name = "tinkaf.telemetry";
};

/// Sends over `http`, which puts the credential into a header as with every call.
TelemetryActor::behavior_type telemetry(TelemetryState::SelfPointer self, HttpActor http,
                                        TelemetrySettings settings);

} // namespace tinkaf
