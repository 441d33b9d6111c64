// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace tinkaf::server {

/// A body that is sent while it comes into being. Who writes it never waits for the client; what
/// the client has not taken yet is held in memory. Thread-safe.
class BodyStream {
public:
  /// Adds to the body; nothing once it has ended.
  void write(std::string piece);

  /// Nothing comes any more; only the first call counts.
  void end();

  /// Ends a body that is not whole: the connection breaks, so that the client sees it.
  void break_off();

  // For the connection that sends it.

  enum class State : std::uint8_t { open, ended, broken };

  struct Taken {
    std::string piece;
    State state = State::open;
  };

  /// What has been written since the last call. If that is nothing and the body is open, `wake` is
  /// called once when there is news, by the thread that writes; it must not block.
  [[nodiscard]] Taken take(std::function<void()> wake);

private:
  /// Applies a change and wakes whoever waits for one.
  template <class Change>
  void change(const Change& change);

  std::mutex mutex_;
  Taken pending_;
  std::function<void()> wake_;
};

} // namespace tinkaf::server
