// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/caf_types.hpp"

#include <caf/typed_response_promise.hpp>

#include <memory>
#include <utility>

namespace tinkaf {

/// An answer that an actor owes. Copies owe the same one; it is given exactly once: the first call
/// of `deliver` or `fail` counts, and `Errc::cancelled` is given when the last copy goes away.
///
/// CAF drops a promise without a word when its actor ends, and its caller waits for ever.
template <class T>
class Owed {
public:
  Owed() = default;

  explicit Owed(caf::typed_response_promise<T> promise)
      : debt_(std::make_shared<Debt>(std::move(promise))) {}

  void deliver(T value) const {
    if (debt_->promise.pending())
      debt_->promise.deliver(std::move(value));
  }

  void fail(Error error) const {
    if (debt_->promise.pending())
      debt_->promise.deliver(to_caf(std::move(error)));
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
      if (promise.pending())
        promise.deliver(
            to_caf({Errc::cancelled, "the client was shut down before an answer came"}));
    }

    Debt(const Debt&) = delete;
    Debt& operator=(const Debt&) = delete;

    caf::typed_response_promise<T> promise;
  };

  std::shared_ptr<Debt> debt_;
};

/// Starts to owe an answer to the request that `self` is handling.
template <class T, class Self>
[[nodiscard]] Owed<T> owe(Self* self) {
  return Owed<T>{self->template make_response_promise<T>()};
}

} // namespace tinkaf
