// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/http/http_exchange.hpp"
#include "server/server_options.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <mutex>
#include <utility>

namespace tinkaf::server {

/// Plays the faults that a server in test mode was asked for; without any, it does nothing.
/// Thread-safe.
class Faults {
public:
  using Clock = std::chrono::steady_clock;

  explicit Faults(ServerFaults wanted) : wanted_(std::move(wanted)) {}

  /// Counts an operation or a sample; true if it is to fail.
  [[nodiscard]] bool fails_operation();

  /// Counts a write to the state folder; true if the disk is full.
  [[nodiscard]] bool disk_is_full();

  /// Counts an answer: the one that is returned drops or delays it, if that is wanted.
  [[nodiscard]] Responder on_the_way(const Responder& responder);

  /// Sends what was delayed long enough.
  void tick(Clock::time_point now);

  [[nodiscard]] std::chrono::milliseconds model_wait() const noexcept {
    return wanted_.model_wait;
  }

private:
  void send(const Responder& responder, HttpReply reply);

  const ServerFaults wanted_;
  std::atomic<std::size_t> operations_ = 0;
  std::atomic<std::size_t> writes_ = 0;
  std::atomic<std::size_t> replies_ = 0;
  std::mutex mutex_;
  std::deque<std::pair<Clock::time_point, std::pair<Responder, HttpReply>>> delayed_;
};

/// What a computation that is to fail fails with.
[[nodiscard]] Error played_fault();

/// Whether anything is wanted.
[[nodiscard]] bool any(const ServerFaults& faults) noexcept;

} // namespace tinkaf::server
