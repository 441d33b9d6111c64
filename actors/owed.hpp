// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/caf_types.hpp"

#include <caf/sec.hpp>
#include <caf/typed_response_promise.hpp>

#include <functional>
#include <memory>
#include <utility>

namespace tinkaf {

/// An answer that an actor owes. Copies owe the same one; it is given exactly once: the first call
/// of `deliver` or `fail` counts. When the last copy goes away without one, its actor has ended:
/// then the caller gets what CAF says of an actor that is no more, `Errc::cancelled` by `from_caf`.
///
/// CAF by itself drops a promise without a word when its actor ends, and its caller waits for ever.
template <class T>
class Owed {
public:
  Owed() = default;

  explicit Owed(caf::typed_response_promise<T> promise)
      : debt_(std::make_shared<Debt>(std::move(promise))) {}

  void deliver(T value) const {
    debt_->settle(std::move(value));
  }

  void fail(Error error) const {
    debt_->settle(to_caf(std::move(error)));
  }

  /// Calls `action` once the answer has been given, whatever it is.
  // NOLINTNEXTLINE(performance-unnecessary-value-param): it is moved from
  void when_settled(std::function<void()> action) const {
    debt_->settled = std::move(action);
  }

  /// What fails the answer if it is still owed, without owing it.
  [[nodiscard]] std::function<void(Error)> failer() const {
    return [weak = std::weak_ptr<Debt>{debt_}](Error error) {
      if (auto debt = weak.lock())
        debt->settle(to_caf(std::move(error)));
    };
  }

  /// Delivers the value or the error.
  void settle(Result<T> result) const {
    if (result)
      deliver(std::move(*result));
    else
      fail(std::move(result.error()));
  }

  /// What a handler returns to say that the answer comes later.
  [[nodiscard]] caf::typed_response_promise<T> promise() const {
    return debt_->promise;
  }

private:
  struct Debt {
    explicit Debt(caf::typed_response_promise<T> x) : promise(std::move(x)) {}

    ~Debt() {
      settle(caf::make_error(caf::sec::request_receiver_down));
    }

    template <class Answer>
    void settle(Answer answer) {
      if (!promise.pending())
        return;
      promise.deliver(std::move(answer));
      if (auto action = std::exchange(settled, nullptr))
        action();
    }

    Debt(const Debt&) = delete;
    Debt& operator=(const Debt&) = delete;

    caf::typed_response_promise<T> promise;
    std::function<void()> settled;
  };

  std::shared_ptr<Debt> debt_;
};

/// Starts to owe an answer to the request that `self` is handling.
template <class T, class Self>
[[nodiscard]] Owed<T> owe(Self* self) {
  return Owed<T>{self->template make_response_promise<T>()};
}

} // namespace tinkaf
