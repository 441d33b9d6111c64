// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tinkaf::test {

/// A message of HTTP/1.1 as its bytes.
struct RawMessage {
  /// First line and headers, the empty line included.
  std::string head;
  std::string body;

  /// First line without its end.
  [[nodiscard]] std::string_view first_line() const;

  [[nodiscard]] std::string bytes() const {
    return head + body;
  }
};

/// Reads messages off a connected socket that somebody else owns.
class MessageReader {
public:
  explicit MessageReader(int socket) : socket_(socket) {}

  /// The next message, or nothing once the connection has ended, or `watched` has: a socket on
  /// which nothing is to be read meanwhile, -1 for none.
  [[nodiscard]] std::optional<RawMessage> next(int watched = -1);

private:
  bool more(int watched);

  int socket_;
  std::string buffer_;
};

/// A socket that listens on a free port of the loopback interface, and the port.
[[nodiscard]] std::pair<int, std::uint16_t> listen_on_loopback();

/// A socket connected to a port of the loopback interface; -1 if nobody is there.
[[nodiscard]] int connect_to_loopback(std::uint16_t port);

/// False if the other side is gone.
bool send_all(int socket, std::string_view bytes);

/// True once the other side has closed the connection; false if `limit` is over before.
bool wait_for_hang_up(int socket, std::chrono::milliseconds limit);

/// Lets the closing of the socket be a reset, for the other side.
void reset_on_close(int socket);

} // namespace tinkaf::test
