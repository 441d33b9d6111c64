// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <stop_token>
#include <thread>

namespace tinkaf::cli {

/// Turns SIGINT and SIGTERM into a request to stop.
///
/// The first signal asks for a stop. A second one, or a program that has not ended `patience`
/// later, ends the process at once: whatever hangs, ^C works.
///
/// Works whichever thread a signal hits, those of libraries included. One at a time.
class StopSignals {
public:
  explicit StopSignals(std::chrono::milliseconds patience = std::chrono::milliseconds{4'500});
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  [[nodiscard]] std::stop_token token() const noexcept {
    return stop_.get_token();
  }

  /// The signal that asked for a stop, or 0.
  [[nodiscard]] int received() const noexcept {
    return received_;
  }

  /// The exit code of a program that a signal has stopped, by the custom of shells: 130 for ^C.
  [[nodiscard]] int exit_code() const noexcept {
    return 128 + received_;
  }

private:
  void watch(std::chrono::milliseconds patience);

  std::stop_source stop_;
  std::atomic<int> received_{0};
  int signals_ = -1;
  int end_ = -1;
  std::thread thread_;
};

} // namespace tinkaf::cli
