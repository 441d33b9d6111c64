// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/http/curl_handles.hpp"

#include <atomic>
#include <chrono>
#include <optional>

namespace tinkaf {

/// Drives a multi handle by the events of its sockets: an event costs the same however many
/// transfers there are, where `curl_multi_perform` looks at them all.
///
/// Of one thread, but for `wake`.
class CurlEvents {
public:
  /// Takes over the handle's socket and timer callbacks; `multi` must outlive it.
  explicit CurlEvents(CURLM* multi);
  ~CurlEvents();
  CurlEvents(const CurlEvents&) = delete;
  CurlEvents& operator=(const CurlEvents&) = delete;

  /// False if the system has no descriptors left.
  [[nodiscard]] bool ready() const noexcept {
    return epoll_ >= 0 && waker_ >= 0;
  }

  /// Waits for something to happen, however long that takes, and lets libcurl act upon it.
  void wait();

  /// Ends a `wait` under way or the next one; from any thread.
  void wake() noexcept;

private:
  using Clock = std::chrono::steady_clock;

  static int on_socket(CURL* easy, curl_socket_t socket, int what, void* self, void* known);
  static int on_timer(CURLM* multi, long timeout_ms, void* self);

  void act(curl_socket_t socket, int events);
  bool act_if_due();
  [[nodiscard]] int timeout_ms() const;

  CURLM* multi_;
  int epoll_;
  int waker_;
  std::atomic<bool> woken_{false};
  std::optional<Clock::time_point> due_;
};

} // namespace tinkaf
