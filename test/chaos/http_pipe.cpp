// SPDX-License-Identifier: Apache-2.0
#include "test/chaos/http_pipe.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tinkaf::test {

namespace {

sockaddr_in loopback(std::uint16_t port) {
  auto address = sockaddr_in{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

std::size_t body_size(std::string head) {
  std::transform(head.begin(), head.end(), head.begin(),
                 [](unsigned char x) { return static_cast<char>(std::tolower(x)); });
  constexpr std::string_view name = "\r\ncontent-length:";
  const auto at = head.find(name);
  return at == std::string::npos ? 0 : std::strtoull(head.c_str() + at + name.size(), nullptr, 10);
}

} // namespace

std::string_view RawMessage::first_line() const {
  return std::string_view{head}.substr(0, head.find("\r\n"));
}

std::optional<RawMessage> MessageReader::next(int watched) {
  auto end = buffer_.find("\r\n\r\n");
  while (end == std::string::npos) {
    if (!more(watched))
      return std::nullopt;
    end = buffer_.find("\r\n\r\n");
  }
  auto message = RawMessage{.head = buffer_.substr(0, end + 4)};
  buffer_.erase(0, end + 4);
  const auto size = body_size(message.head);
  while (buffer_.size() < size)
    if (!more(watched))
      return std::nullopt;
  message.body = buffer_.substr(0, size);
  buffer_.erase(0, size);
  return message;
}

bool MessageReader::more(int watched) {
  auto waiting = std::array{pollfd{socket_, POLLIN, 0}, pollfd{watched, POLLIN | POLLRDHUP, 0}};
  if (::poll(waiting.data(), watched < 0 ? 1 : 2, -1) < 0)
    return false;
  if (waiting[0].revents == 0)
    return false; // it is the watched one
  auto block = std::array<char, 16'384>{};
  const auto count = ::recv(socket_, block.data(), block.size(), 0);
  if (count <= 0)
    return false;
  buffer_.append(block.data(), static_cast<std::size_t>(count));
  return true;
}

std::pair<int, std::uint16_t> listen_on_loopback() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto address = loopback(0);
  auto size = socklen_t{sizeof address};
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (socket < 0 || ::bind(socket, generic, size) != 0 || ::listen(socket, 64) != 0
      || ::getsockname(socket, generic, &size) != 0)
    throw std::runtime_error{"cannot listen on the loopback interface"};
  return {socket, ntohs(address.sin_port)};
}

int connect_to_loopback(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto address = loopback(port);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return socket;
  }
  ::close(socket);
  return -1;
}

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0)
      return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool wait_for_hang_up(int socket, std::chrono::milliseconds limit) {
  auto waiting = pollfd{socket, POLLRDHUP, 0};
  return ::poll(&waiting, 1, static_cast<int>(limit.count())) > 0;
}

void reset_on_close(int socket) {
  const auto at_once = linger{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

} // namespace tinkaf::test
