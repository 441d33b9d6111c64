// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/benchmarks.hpp"
#include "bench/folder.hpp"
#include "bench/peer_process.hpp"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace tinkaf::bench {

namespace {

constexpr std::size_t poll_count = 1000;

/// A connection that says no more HTTP than it takes.
class Connection {
public:
  explicit Connection(const std::string& url) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    good_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  ~Connection() {
    if (socket_ >= 0)
      ::close(socket_);
  }
  Connection(Connection&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), good_(other.good_) {}
  Connection& operator=(Connection&&) = delete;

  void send(std::string_view method, std::string_view call, std::string_view body) {
    const auto request
        = fmt::format("{} /api/v1/{} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                      "Content-Length: {}\r\n\r\n{}",
                      method, call, body.size(), body);
    good_ = good_
            && ::send(socket_, request.data(), request.size(), MSG_NOSIGNAL)
                   == static_cast<ssize_t>(request.size());
  }

  /// The answer, which is short.
  std::string receive() {
    std::string out;
    std::array<char, 4096> piece{};
    while (out.find("\r\n\r\n") == std::string::npos || !out.ends_with('}')) {
      const auto count = ::recv(socket_, piece.data(), piece.size(), 0);
      if (count <= 0)
        break;
      out.append(piece.data(), static_cast<std::size_t>(count));
    }
    return out;
  }

  std::string call(std::string_view method, std::string_view path, std::string_view body = {}) {
    send(method, path, body);
    return receive();
  }

  [[nodiscard]] bool good() const noexcept {
    return good_;
  }

private:
  int socket_;
  bool good_ = false;
};

/// The text of a field of an answer.
std::string field(const std::string& answer, const std::string& name) {
  const auto at = answer.find('"' + name + "\":\"");
  if (at == std::string::npos)
    return {};
  const auto begin = at + name.size() + 4;
  return answer.substr(begin, answer.find('"', begin) - begin);
}

/// A number of `/proc/<process>/status`, in its unit.
long status(pid_t process, std::string_view name) {
  auto file = std::ifstream{fmt::format("/proc/{}/status", process)};
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(name))
      return std::stol(line.substr(name.size() + 1));
  return 0;
}

void tell(const PeerProcess& server, std::string_view when) {
  fmt::print("  {:>22}: {:3} threads, {:6.1f} MB resident\n", when,
             status(server.process(), "Threads"),
             static_cast<double>(status(server.process(), "VmRSS")) / 1024.0);
}

/// An operation that waits for a number that does not come; its request id.
std::string begin_waiting(Connection& connection) {
  const auto session
      = field(connection.call("POST", "create_session",
                              R"({"tags":[],"sdk_version":"bench","type":"create_session"})"),
              "session_id");
  const auto model = field(
      connection.call("POST", "create_model",
                      fmt::format(R"({{"session_id":"{}","model_seq_id":0,"base_model":"tiny",)"
                                  R"("lora_config":{{"rank":4}}}})",
                                  session)),
      "model_id");
  return field(
      connection.call("POST", "optim_step",
                      fmt::format(R"({{"model_id":"{}","seq_id":2,"adam_params":{{}}}})", model)),
      "request_id");
}

} // namespace

void polls() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    (void)::setrlimit(RLIMIT_NOFILE, &limit);
  }
  const auto folder = Folder{};
  auto server = PeerProcess::start({"server", folder.path().string()});
  if (!server)
    return fmt::print("  failed: {}\n", to_string(server.error()));
  fmt::print("a local server with {} long polls open\n", poll_count);
  auto connection = Connection{server->url()};
  const auto request_id = begin_waiting(connection);
  if (request_id.empty())
    return fmt::print("  failed: the server accepts no operation\n");
  tell(*server, "before");
  std::vector<Connection> waiting;
  for (std::size_t i = 0; i < poll_count; ++i) {
    waiting.emplace_back(server->url());
    waiting.back().send("POST", "retrieve_future",
                        fmt::format(R"({{"request_id":"{}"}})", request_id));
    if (!waiting.back().good())
      return fmt::print("  failed: connection {} was refused\n", i);
  }
  std::vector<double> times;
  for (int i = 0; i < 200; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    if (connection.call("GET", "healthz").find("200 OK") == std::string::npos)
      return fmt::print("  failed: healthz is not answered\n");
    times.push_back(
        std::chrono::duration<double, std::milli>{std::chrono::steady_clock::now() - begin}
            .count());
  }
  tell(*server, "while all wait");
  std::sort(times.begin(), times.end());
  fmt::print("  {:>22}: {:.2f} ms in the middle, {:.2f} ms at most, of {}\n", "healthz meanwhile",
             times[times.size() / 2], times.back(), times.size());
  std::size_t answered = 0;
  for (auto& poll : waiting)
    if (poll.receive().find("try_again") != std::string::npos)
      ++answered;
  tell(*server, "behind their answers");
  fmt::print("  {:>22}: {} of {}\n", "answered", answered, poll_count);
}

} // namespace tinkaf::bench
