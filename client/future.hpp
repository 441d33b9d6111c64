// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/call_status.hpp"
#include "messages/error.hpp"
#include "messages/notice.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace tinkaf {

/// What to say of a call that has no answer yet.
/// @param what the call, for example "optim_step"
/// @param status how far it is, if that is known
[[nodiscard]] Error still_waiting(const std::string& what, std::chrono::milliseconds elapsed,
                                  const std::optional<CallStatus>& status);

/// The place where an answer meets those who wait for it. Thread-safe.
template <class T>
class FutureState {
public:
  using Clock = std::chrono::steady_clock;

  /// How long a wait that is over looks for what to say of the call.
  static constexpr std::chrono::milliseconds status_patience{200};

  /// @param what the call, for messages, for example "optim_step"
  /// @param tell_every how often a wait without a limit tells what is being waited for
  explicit FutureState(std::string what, NoticeSink notices = {},
                       std::chrono::milliseconds tell_every = std::chrono::minutes{1})
      : what_(std::move(what)), notices_(std::move(notices)), tell_every_(tell_every) {}

  /// Sets the answer; all but the first are dropped.
  void set(Result<T> answer) {
    settle(std::move(answer));
  }

  /// Sets `Errc::cancelled` and tells those who work for the answer; nothing if it is there.
  void cancel() {
    if (auto give_up = settle(fail(Errc::cancelled, what_ + " was given up by its caller")))
      give_up();
  }

  /// What `cancel` calls, once; forgotten with the answer.
  void on_cancel(std::function<void()> give_up) {
    std::lock_guard lock{mutex_};
    if (!answer_)
      give_up_ = std::move(give_up);
  }

  /// What a wait that is over calls to learn by `tell` how far the call is; forgotten with the
  /// answer.
  void on_status(std::function<void()> ask) {
    std::lock_guard lock{mutex_};
    if (!answer_)
      ask_status_ = std::move(ask);
  }

  /// Says how far the call is.
  void tell(CallStatus status) {
    {
      std::lock_guard lock{mutex_};
      status_ = std::move(status);
      ++told_;
    }
    changed_.notify_all();
  }

  [[nodiscard]] bool ready() const {
    std::lock_guard lock{mutex_};
    return answer_.has_value();
  }

  /// Waits without a limit; tells now and then what is being waited for.
  [[nodiscard]] Result<T> get() const {
    std::unique_lock lock{mutex_};
    while (!wait(lock, tell_every_)) {
      auto text = notice_of(story());
      lock.unlock();
      if (notices_)
        notices_({Severity::warning, std::move(text)});
      lock.lock();
    }
    return *answer_;
  }

  [[nodiscard]] Result<T> get(std::chrono::milliseconds limit) const {
    std::unique_lock lock{mutex_};
    if (wait(lock, limit))
      return *answer_;
    return fail(story());
  }

private:
  /// @returns what to call if the answer was given up
  std::function<void()> settle(Result<T> answer) {
    std::function<void()> give_up;
    std::function<void()> ask_status;
    {
      std::lock_guard lock{mutex_};
      if (answer_)
        return {};
      answer_.emplace(std::move(answer));
      give_up = std::exchange(give_up_, nullptr);
      ask_status = std::exchange(ask_status_, nullptr);
    }
    changed_.notify_all();
    return give_up;
  }

  /// @returns whether the answer is there; if not, `status_` is as fresh as can be had
  bool wait(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds limit) const {
    auto answered = [this] { return answer_.has_value(); };
    if (changed_.wait_for(lock, limit, answered))
      return true;
    if (auto ask = ask_status_) {
      auto told = told_;
      lock.unlock();
      ask();
      lock.lock();
      changed_.wait_for(lock, status_patience, [&] { return answered() || told_ != told; });
    }
    return answered();
  }

  [[nodiscard]] Error story() const {
    auto time = Clock::now() - began_;
    return still_waiting(what_, std::chrono::duration_cast<std::chrono::milliseconds>(time),
                         status_);
  }

  [[nodiscard]] static std::string notice_of(const Error& error) {
    auto text = "still waiting: " + error.message;
    return error.request_id.empty() ? text : text + " [request " + error.request_id + "]";
  }

  std::string what_;
  NoticeSink notices_;
  std::chrono::milliseconds tell_every_;
  Clock::time_point began_ = Clock::now();
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::optional<Result<T>> answer_;
  std::optional<CallStatus> status_;
  std::uint64_t told_ = 0;
  std::function<void()> give_up_;
  std::function<void()> ask_status_;
};

/// An answer on its way. Copies share it; it may be asked for late, often and from any thread.
///
/// Always answered in the end: when its client goes away, with `Errc::cancelled`.
template <class T>
class Future {
public:
  explicit Future(std::shared_ptr<FutureState<T>> state) : state_(std::move(state)) {}

  /// Waits for the answer. Tells the service's notices once a minute what is being waited for.
  [[nodiscard]] Result<T> get() const {
    return state_->get();
  }

  /// Waits no longer than `limit`, and then up to 0.2 s to learn how far the call is.
  /// @returns also `Errc::timeout`, which leaves the call under way: ask again. It tells the call,
  ///   the request id, the time since the call, and the queue state with the service's reason
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
