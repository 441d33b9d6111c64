// SPDX-License-Identifier: Apache-2.0
#include "test/chaos/fault_proxy.hpp"

#include "test/chaos/http_pipe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <tuple>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

namespace tinkaf::test {

namespace {

using namespace std::chrono_literals;

constexpr auto for_ever = std::chrono::hours{1};
constexpr std::uint64_t slow_pieces = 8;

std::string plain_answer(int status, std::string_view reason, const std::string& headers,
                         std::string_view body) {
  return fmt::format(
      "HTTP/1.1 {} {}\r\nContent-Type: application/json\r\n{}Content-Length: {}\r\n\r\n{}", status,
      reason, headers, body.size(), body);
}

} // namespace

/// One connection of the client.
class FaultProxy::Connection {
public:
  Connection(FaultProxy& proxy, int client) : proxy_(proxy), client_(client), reader_(client) {}

  void run() {
    while (auto request = reader_.next()) {
      auto [number, fault] = proxy_.next_fault();
      number_ = number;
      if (!answer(*request, fault))
        return;
    }
  }

private:
  /// False if the connection has to end.
  bool answer(const RawMessage& request, const Fault& fault) {
    switch (fault.kind) {
    case FaultKind::refuse:
      return reset();
    case FaultKind::too_many:
      return send_all(client_, plain_answer(429, "Too Many Requests",
                                            fmt::format("Retry-After: 1\r\nretry-after-ms: {}\r\n",
                                                        fault.time.count()),
                                            R"({"detail":"too many requests"})"));
    case FaultKind::unavailable: {
      // Gateways say so of requests that never arrived, and of others.
      constexpr std::array statuses{502, 503, 504};
      if (number_ % 2 == 0 && !ask_server(request))
        return reset();
      return send_all(client_, plain_answer(statuses.at(number_ % statuses.size()), "Unavailable",
                                            {}, R"({"detail":"the gateway has no answer"})"));
    }
    case FaultKind::delay:
      if (wait_for_hang_up(client_, fault.time))
        return false;
      break;
    case FaultKind::duplicate:
      if (!ask_server(request))
        return reset();
      break;
    default:
      break;
    }
    const auto reply = ask_server(request);
    return reply ? send_back(*reply, fault) : reset();
  }

  bool send_back(const RawMessage& reply, const Fault& fault) {
    const auto bytes = reply.bytes();
    switch (fault.kind) {
    case FaultKind::reset:
      return reset();
    case FaultKind::drop:
      wait_for_hang_up(client_, for_ever);
      return false;
    case FaultKind::truncate:
      send_all(client_,
               std::string_view{bytes}.substr(0, reply.head.size() + reply.body.size() / 2));
      return false;
    case FaultKind::garbage:
      send_all(client_, std::string{"\x16\x03\x01\0\xFFnot HTTP at all\r\n\r\n", 24});
      return false;
    case FaultKind::slow_body:
      return send_slowly(bytes, fault.time);
    default:
      return send_all(client_, bytes);
    }
  }

  bool send_slowly(std::string_view bytes, std::chrono::milliseconds time) {
    const auto piece = bytes.size() / slow_pieces + 1;
    while (!bytes.empty()) {
      if (!send_all(client_, bytes.substr(0, piece)))
        return false;
      bytes.remove_prefix(std::min(piece, bytes.size()));
      if (wait_for_hang_up(client_, time / slow_pieces))
        return false;
    }
    return true;
  }

  bool reset() const {
    reset_on_close(client_);
    return false;
  }

  /// The server's answer; nothing if the server or the client is gone.
  std::optional<RawMessage> ask_server(const RawMessage& request) {
    const auto port = proxy_.server_.load();
    if (port == 0)
      note(request, {});
    const int server = port == 0 ? -1 : connect_to_loopback(port);
    if (server < 0)
      return std::nullopt;
    auto reply = std::optional<RawMessage>{};
    if (proxy_.enter(server)) {
      if (send_all(server, request.bytes()))
        reply = MessageReader{server}.next(client_);
      proxy_.leave(server);
    }
    ::close(server);
    if (reply)
      note(request, *reply);
    return reply;
  }

  void note(const RawMessage& request, const RawMessage& reply) {
    auto target = std::string{request.first_line()};
    target.erase(target.rfind(' '));
    const auto line = reply.first_line();
    const auto status = line.size() < 12 ? 0 : std::atoi(std::string{line.substr(9, 3)}.c_str());
    proxy_.note({number_, std::move(target), request.body, status, reply.body});
  }

  FaultProxy& proxy_;
  int client_;
  MessageReader reader_;
  std::uint64_t number_ = 0;
};

FaultProxy::FaultProxy(FaultPlan plan, OnExchange on_exchange)
    : plan_(std::move(plan)), on_exchange_(std::move(on_exchange)) {
  std::tie(listener_, port_) = listen_on_loopback();
  acceptor_ = std::thread{[this] { accept_all(); }};
}

FaultProxy::~FaultProxy() {
  {
    const auto lock = std::lock_guard{mutex_};
    stopping_ = true;
    ::shutdown(listener_, SHUT_RDWR);
    for (const auto socket : sockets_)
      ::shutdown(socket, SHUT_RDWR);
  }
  acceptor_.join();
  for (auto& thread : threads_)
    thread.join();
  ::close(listener_);
}

std::string FaultProxy::url() const {
  return fmt::format("http://127.0.0.1:{}", port_);
}

bool FaultProxy::wait_for_requests(std::uint64_t count, std::chrono::milliseconds limit) const {
  auto lock = std::unique_lock{mutex_};
  return changed_.wait_for(lock, limit, [&] { return requests_ >= count; });
}

std::uint64_t FaultProxy::requests() const {
  const auto lock = std::lock_guard{mutex_};
  return requests_;
}

std::map<FaultKind, std::uint64_t> FaultProxy::faults() const {
  const auto lock = std::lock_guard{mutex_};
  return faults_;
}

void FaultProxy::accept_all() {
  while (true) {
    const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0)
      return;
    const auto lock = std::lock_guard{mutex_};
    if (stopping_) {
      ::close(client);
      return;
    }
    threads_.emplace_back([this, client] { serve(client); });
  }
}

void FaultProxy::serve(int client) {
  if (enter(client)) {
    Connection{*this, client}.run();
    leave(client);
  }
  ::close(client);
}

std::pair<std::uint64_t, Fault> FaultProxy::next_fault() {
  const auto lock = std::lock_guard{mutex_};
  const auto number = requests_++;
  changed_.notify_all();
  auto fault = burst_;
  if (burst_.more > 0)
    --burst_.more;
  else
    burst_ = {};
  if (fault.kind == FaultKind::none) {
    fault = plan_.at(number);
    if (fault.more > 0)
      burst_ = {fault.kind, fault.time, fault.more - 1};
  }
  if (fault.kind != FaultKind::none)
    ++faults_[fault.kind];
  return {number, fault};
}

void FaultProxy::note(const Exchange& exchange) {
  const auto lock = std::lock_guard{exchange_mutex_};
  if (on_exchange_)
    on_exchange_(exchange);
}

bool FaultProxy::enter(int socket) {
  const auto lock = std::lock_guard{mutex_};
  if (stopping_)
    return false;
  sockets_.insert(socket);
  return true;
}

void FaultProxy::leave(int socket) {
  const auto lock = std::lock_guard{mutex_};
  sockets_.erase(socket);
}

} // namespace tinkaf::test
