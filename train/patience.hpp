// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <utility>

#include "train/backend.hpp"

namespace tinkaf::train {

/// How long a run waits for answers: for ever, but after a stop no longer than a grace. For one
/// thread.
class Patience {
public:
  Patience(std::stop_token stop, std::chrono::milliseconds grace)
      : stop_(std::move(stop)), grace_(grace) {}

  /// @returns `Errc::cancelled` if the grace ended first
  template <class T>
  [[nodiscard]] Result<T> wait(const Pending<T>& pending) {
    while (true) {
      if (auto answer = pending(slice))
        return std::move(*answer);
      if (auto more = check(); !more)
        return fail(std::move(more.error()));
    }
  }

  /// The same for what is not worth finishing: a stop ends it at once.
  /// @returns `Errc::cancelled` if there was a stop first
  template <class T>
  [[nodiscard]] Result<T> wait_unless_stopped(const Pending<T>& pending) {
    while (!stop_.stop_requested())
      if (auto answer = pending(slice))
        return std::move(*answer);
    gave_up_ = true;
    return fail(Errc::cancelled, "stopped");
  }

  /// For waits of another kind, now and then.
  /// @returns `Errc::cancelled` once the grace is over
  [[nodiscard]] Result<void> check() {
    if (!stop_.stop_requested())
      return {};
    if (!end_)
      end_ = Clock::now() + grace_;
    if (Clock::now() < *end_)
      return {};
    is_over_ = true;
    return fail(Errc::cancelled, "stopped");
  }

  [[nodiscard]] bool stop_requested() const noexcept {
    return stop_.stop_requested();
  }

  /// Whether a wait ended because the grace did.
  [[nodiscard]] bool is_over() const noexcept {
    return is_over_;
  }

  /// Whether a wait for what is not worth finishing was given up.
  [[nodiscard]] bool gave_up() const noexcept {
    return gave_up_;
  }

private:
  using Clock = std::chrono::steady_clock;

  /// How often a wait looks whether it was asked to stop.
  static constexpr auto slice = std::chrono::milliseconds{100};

  std::stop_token stop_;
  std::chrono::milliseconds grace_;
  std::optional<Clock::time_point> end_;
  bool is_over_ = false;
  bool gave_up_ = false;
};

} // namespace tinkaf::train
