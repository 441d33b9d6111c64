// SPDX-License-Identifier: Apache-2.0
#include "server/http/body_stream.hpp"

#include <utility>

namespace tinkaf::server {

template <class Change>
void BodyStream::change(const Change& change) {
  std::function<void()> wake;
  {
    const std::lock_guard lock{mutex_};
    if (pending_.state != State::open)
      return;
    change(pending_);
    wake = std::exchange(wake_, nullptr);
  }
  if (wake)
    wake();
}

void BodyStream::write(std::string piece) {
  if (!piece.empty())
    change([&](Taken& pending) { pending.piece += piece; });
}

void BodyStream::end() {
  change([](Taken& pending) { pending.state = State::ended; });
}

void BodyStream::break_off() {
  change([](Taken& pending) { pending.state = State::broken; });
}

BodyStream::Taken BodyStream::take(std::function<void()> wake) {
  const std::lock_guard lock{mutex_};
  if (pending_.piece.empty() && pending_.state == State::open)
    wake_ = std::move(wake);
  return {std::exchange(pending_.piece, {}), pending_.state};
}

} // namespace tinkaf::server
