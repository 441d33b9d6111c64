// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

namespace tinkaf::bench {

/// A server in a process of its own, so that a benchmark sees the memory and the processor time of
/// the client alone.
class PeerProcess {
public:
  /// Starts this program again.
  /// @param arguments the first one says what it is to be, see `main.cpp`
  [[nodiscard]] static Result<PeerProcess> start(std::vector<std::string> arguments);

  /// Ends the process.
  ~PeerProcess();
  PeerProcess(PeerProcess&& other) noexcept;
  PeerProcess& operator=(PeerProcess&&) = delete;

  /// "http://127.0.0.1:<port>"
  [[nodiscard]] const std::string& url() const noexcept {
    return url_;
  }

  [[nodiscard]] pid_t process() const noexcept {
    return process_;
  }

private:
  PeerProcess() = default;

  pid_t process_ = -1;
  int life_line_ = -1;
  std::string url_;
};

/// What such a process does once it listens: tells its port and waits for the end of whoever has
/// started it.
void serve_until_parent_ends(std::uint16_t port);

} // namespace tinkaf::bench
