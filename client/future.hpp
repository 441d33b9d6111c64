// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "messages/notice.hpp"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace tinkaf {

/// The place where an answer meets those who wait for it. Thread-safe.
template <class T>
class FutureState {
public:
  using Clock = std::chrono::steady_clock;

  /// @param what the call, for messages, for example "optim_step"
  explicit FutureState(std::string what, NoticeSink notices = {})
      : what_(std::move(what)), notices_(std::move(notices)) {}

  /// Sets the answer; all but the first are dropped.
  void set(Result<T> answer) {
    std::function<void()> unused;
    {
      std::lock_guard lock{mutex_};
      if (answer_)
        return;
      answer_.emplace(std::move(answer));
      unused = std::exchange(give_up_, nullptr);
    }
    arrived_.notify_all();
  }

  /// Sets `Errc::cancelled` and tells those who work for the answer; nothing if it is there.
  void cancel() {
    std::function<void()> give_up;
    {
      std::lock_guard lock{mutex_};
      if (answer_)
        return;
      answer_.emplace(fail(Errc::cancelled, what_ + " was given up by its caller"));
      give_up = std::exchange(give_up_, nullptr);
    }
    arrived_.notify_all();
    if (give_up)
      give_up();
  }

  /// What `cancel` calls, once; forgotten with the answer.
  void on_cancel(std::function<void()> give_up) {
    std::lock_guard lock{mutex_};
    if (!answer_)
      give_up_ = std::move(give_up);
  }

  [[nodiscard]] bool ready() const {
    std::lock_guard lock{mutex_};
    return answer_.has_value();
  }

  /// Waits without a limit; tells once a minute what is being waited for.
  [[nodiscard]] Result<T> get() const {
    std::unique_lock lock{mutex_};
    while (!arrived_.wait_for(lock, std::chrono::minutes{1}, [&] { return answer_.has_value(); }))
      if (notices_)
        notices_({Severity::warning, "still waiting for " + what_ + " after " + elapsed()});
    return *answer_;
  }

  [[nodiscard]] Result<T> get(std::chrono::milliseconds limit) const {
    std::unique_lock lock{mutex_};
    if (!arrived_.wait_for(lock, limit, [&] { return answer_.has_value(); }))
      return fail(Errc::timeout, what_ + " has no result " + elapsed()
                                     + " after the call; it goes on and can be waited for again");
    return *answer_;
  }

private:
  [[nodiscard]] std::string elapsed() const {
    auto time = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began_);
    return std::to_string(time.count()) + " ms";
  }

  std::string what_;
  NoticeSink notices_;
  Clock::time_point began_ = Clock::now();
  mutable std::mutex mutex_;
  mutable std::condition_variable arrived_;
  std::optional<Result<T>> answer_;
  std::function<void()> give_up_;
};

/// An answer on its way. Copies share it; it may be asked for late, often and from any thread.
///
/// Always answered in the end: when its client goes away, with `Errc::cancelled`.
template <class T>
class Future {
public:
  explicit Future(std::shared_ptr<FutureState<T>> state) : state_(std::move(state)) {}

  /// Waits for the answer.
  [[nodiscard]] Result<T> get() const {
    return state_->get();
  }

  /// Waits no longer than `limit`.
  /// @returns also `Errc::timeout`, which leaves the call under way: ask again
  [[nodiscard]] Result<T> get(std::chrono::milliseconds limit) const {
    return state_->get(limit);
  }

  /// Gives the call up: it is answered with `Errc::cancelled` at once, unless it is answered
  /// already. Other calls go on.
  ///
  /// Nothing is sent to the service. A sample that has not been submitted never is, a result is no
  /// longer waited for; but an operation that the service has accepted, or is about to get, takes
  /// effect: a training operation keeps its place and its number.
  void cancel() const {
    state_->cancel();
  }

  /// True if `get` would not wait.
  [[nodiscard]] bool ready() const {
    return state_->ready();
  }

private:
  std::shared_ptr<FutureState<T>> state_;
};

} // namespace tinkaf
