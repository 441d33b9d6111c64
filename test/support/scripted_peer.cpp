// SPDX-License-Identifier: Apache-2.0
#include "test/support/scripted_peer.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <tuple>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tinkaf::test {

namespace {

constexpr std::chrono::seconds patience{10};

std::string lower(std::string text) {
  for (auto& c : text)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// A socket bound to a free port.
std::pair<int, std::uint16_t> bind_free_port() {
  auto socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (socket < 0 || ::bind(socket, generic, size) != 0
      || ::getsockname(socket, generic, &size) != 0)
    throw std::runtime_error("no free port");
  return {socket, ntohs(address.sin_port)};
}

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    auto sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0)
      return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

/// Reads requests off a connection; keeps what belongs to the next.
class RequestReader {
public:
  explicit RequestReader(int socket) : socket_(socket) {}

  /// The next request, or nothing once the connection has ended.
  std::optional<PeerRequest> next() {
    auto end = read_until("\r\n\r\n");
    if (!end)
      return std::nullopt;
    PeerRequest request;
    read_head(buffer_.substr(0, *end), request);
    buffer_.erase(0, *end + 4);
    const auto* length = request.header("content-length");
    auto body_size = length != nullptr
                         ? static_cast<std::size_t>(std::strtoull(length->c_str(), nullptr, 10))
                         : 0;
    while (buffer_.size() < body_size)
      if (!more())
        return std::nullopt;
    request.body = buffer_.substr(0, body_size);
    buffer_.erase(0, body_size);
    return request;
  }

private:
  static void read_head(std::string_view head, PeerRequest& request) {
    auto line_end = head.find("\r\n");
    auto line = head.substr(0, line_end);
    auto first = line.find(' ');
    auto second = line.find(' ', first + 1);
    request.method = line.substr(0, first);
    request.target = line.substr(first + 1, second - first - 1);
    while (line_end != std::string_view::npos) {
      head.remove_prefix(line_end + 2);
      line_end = head.find("\r\n");
      line = head.substr(0, line_end);
      auto colon = line.find(": ");
      if (colon != std::string_view::npos)
        request.headers.emplace_back(lower(std::string{line.substr(0, colon)}),
                                     line.substr(colon + 2));
    }
  }

  std::optional<std::size_t> read_until(std::string_view mark) {
    while (true) {
      if (auto at = buffer_.find(mark); at != std::string::npos)
        return at;
      if (!more())
        return std::nullopt;
    }
  }

  bool more() {
    std::array<char, 16'384> block{};
    auto got = ::recv(socket_, block.data(), block.size(), 0);
    if (got <= 0)
      return false;
    buffer_.append(block.data(), static_cast<std::size_t>(got));
    return true;
  }

  int socket_;
  std::string buffer_;
};

std::string head_of(const PeerReply& reply) {
  auto head = fmt::format("HTTP/1.1 {} Scripted\r\n", reply.status);
  for (const auto& [name, value] : reply.headers)
    head += fmt::format("{}: {}\r\n", name, value);
  return head + fmt::format("Content-Length: {}\r\n\r\n", reply.body.size());
}

/// False if the connection is to end.
bool send_reply(int socket, const PeerReply& reply) {
  switch (reply.kind) {
  case PeerReply::Kind::normal:
  case PeerReply::Kind::stall:
    return send_all(socket, head_of(reply) + reply.body) && !reply.then_close;
  case PeerReply::Kind::raw:
    send_all(socket, reply.body);
    return false;
  case PeerReply::Kind::truncated:
  case PeerReply::Kind::stall_halfway:
    send_all(socket, head_of(reply) + reply.body.substr(0, reply.body.size() / 2));
    return false;
  case PeerReply::Kind::close:
    break;
  }
  return false;
}

} // namespace

const std::string* PeerRequest::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name)
      return &value;
  return nullptr;
}

ScriptedPeer::ScriptedPeer(std::vector<PeerReply> script) : script_(script.begin(), script.end()) {
  std::tie(listener_, port_) = bind_free_port();
  if (::listen(listener_, SOMAXCONN) != 0)
    throw std::runtime_error("cannot listen");
  acceptor_ = std::thread{[this] { accept_all(); }};
}

ScriptedPeer::~ScriptedPeer() {
  {
    std::lock_guard lock{mutex_};
    stopping_ = true;
    for (auto socket : sockets_)
      ::shutdown(socket, SHUT_RDWR);
  }
  changed_.notify_all();
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  ::close(listener_);
  for (auto& thread : threads_)
    thread.join();
  for (auto socket : sockets_)
    ::close(socket);
}

std::string ScriptedPeer::url() const {
  return fmt::format("http://127.0.0.1:{}", port_);
}

void ScriptedPeer::add(PeerReply reply) {
  std::lock_guard lock{mutex_};
  script_.push_back(std::move(reply));
}

void ScriptedPeer::release() {
  {
    std::lock_guard lock{mutex_};
    released_ = true;
  }
  changed_.notify_all();
}

std::vector<PeerRequest> ScriptedPeer::wait_for_requests(std::size_t count) {
  std::unique_lock lock{mutex_};
  changed_.wait_for(lock, patience, [&] { return requests_.size() >= count; });
  return requests_;
}

std::vector<PeerRequest> ScriptedPeer::requests() const {
  std::lock_guard lock{mutex_};
  return requests_;
}

bool ScriptedPeer::wait_for_hang_ups(std::size_t count) {
  std::unique_lock lock{mutex_};
  return changed_.wait_for(lock, patience, [&] { return hang_ups_ >= count; });
}

std::size_t ScriptedPeer::connections() const {
  std::lock_guard lock{mutex_};
  return sockets_.size();
}

void ScriptedPeer::accept_all() {
  while (true) {
    auto socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0)
      return;
    std::lock_guard lock{mutex_};
    auto connection = sockets_.size();
    sockets_.push_back(socket);
    if (stopping_)
      return;
    threads_.emplace_back([this, socket, connection] { serve(socket, connection); });
  }
}

void ScriptedPeer::serve(int socket, std::size_t connection) {
  RequestReader reader{socket};
  auto alive = true;
  while (alive) {
    auto request = reader.next();
    if (!request)
      break;
    request->connection = connection;
    auto reply = note(std::move(*request));
    if (reply.kind == PeerReply::Kind::stall)
      wait_for_release(socket);
    alive = send_reply(socket, reply);
    if (reply.kind == PeerReply::Kind::stall_halfway)
      wait_for_release(socket);
  }
  ::shutdown(socket, SHUT_RDWR);
  std::lock_guard lock{mutex_};
  if (alive)
    ++hang_ups_;
  changed_.notify_all();
}

PeerReply ScriptedPeer::note(PeerRequest request) {
  PeerReply reply{.status = 404, .body = R"({"detail":"beyond the script"})"};
  {
    std::lock_guard lock{mutex_};
    requests_.push_back(std::move(request));
    if (!script_.empty()) {
      reply = std::move(script_.front());
      script_.pop_front();
    }
  }
  changed_.notify_all();
  return reply;
}

/// Also returns when the other side hangs up.
void ScriptedPeer::wait_for_release(int socket) {
  constexpr std::chrono::milliseconds look_every{20};
  std::unique_lock lock{mutex_};
  while (!released_ && !stopping_) {
    changed_.wait_for(lock, look_every);
    pollfd ended{.fd = socket, .events = POLLRDHUP, .revents = 0};
    if (::poll(&ended, 1, 0) > 0)
      return;
  }
}

std::uint16_t closed_port() {
  auto [socket, port] = bind_free_port();
  ::close(socket);
  return port;
}

} // namespace tinkaf::test
