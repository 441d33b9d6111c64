// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <string>

#include <sys/types.h>

namespace tinkaf::bench {

/// A server in a process of its own that accepts every sample and training step and has its result
/// at once, so that a benchmark sees the cost of the client and of HTTP and nothing else. A
/// training pass gives the result of 128 datums of 2048 tokens.
class TrivialPeer {
public:
  /// Starts this program again as the peer, on a free port of the loopback interface.
  [[nodiscard]] static Result<TrivialPeer> start();

  /// Ends the process.
  ~TrivialPeer();
  TrivialPeer(TrivialPeer&& other) noexcept;
  TrivialPeer& operator=(TrivialPeer&&) = delete;

  /// "http://127.0.0.1:<port>"
  [[nodiscard]] const std::string& url() const noexcept {
    return url_;
  }

private:
  TrivialPeer() = default;

  pid_t process_ = -1;
  int life_line_ = -1;
  std::string url_;
};

/// What that process does: prints its port and serves until its standard input ends.
[[nodiscard]] int be_trivial_peer();

} // namespace tinkaf::bench
