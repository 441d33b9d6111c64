// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "test/chaos/fault_plan.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tinkaf::test {

/// A request that the server has answered, or that found none, as a proxy saw it.
struct Exchange {
  /// Counts the requests of the proxy, from 0.
  std::uint64_t request = 0;

  /// "POST /api/v1/optim_step"
  std::string target;

  std::string body;

  /// 0 if the request has reached no server.
  int status = 0;
  std::string answer;
};

/// Called for each exchange with the server, also if its answer never reaches the client, and for
/// each request while there is no server; on any thread of the proxy, one call at a time.
using OnExchange = std::function<void(const Exchange&)>;

/// Stands between an HTTP/1.1 client and a server of this machine and lets go wrong what a plan
/// says.
///
/// Listens on a free port of the loopback interface. Blocking sockets, one thread per connection of
/// the client, a connection to the server for each request. Bodies have a Content-Length.
/// Thread-safe. The destructor closes all connections and waits for its threads.
class FaultProxy {
public:
  explicit FaultProxy(FaultPlan plan, OnExchange on_exchange = {});
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  /// "http://127.0.0.1:<port>"
  [[nodiscard]] std::string url() const;

  [[nodiscard]] std::uint16_t port() const noexcept {
    return port_;
  }

  /// Where requests go from now on; 0: nowhere, connections are reset.
  void set_server(std::uint16_t port) noexcept {
    server_ = port;
  }

  /// Waits until so many requests have come in.
  /// @returns false if `limit` is over before
  bool wait_for_requests(std::uint64_t count, std::chrono::milliseconds limit) const;

  [[nodiscard]] std::uint64_t requests() const;

  /// How often each fault was met with.
  [[nodiscard]] std::map<FaultKind, std::uint64_t> faults() const;

private:
  class Connection;

  void accept_all();
  void serve(int client);
  [[nodiscard]] std::pair<std::uint64_t, Fault> next_fault();
  void note(const Exchange& exchange);

  // Sockets that the destructor shuts down.
  [[nodiscard]] bool enter(int socket);
  void leave(int socket);

  FaultPlan plan_;
  OnExchange on_exchange_;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  std::atomic<std::uint16_t> server_{0};

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::uint64_t requests_ = 0;
  Fault burst_;
  std::map<FaultKind, std::uint64_t> faults_;
  std::set<int> sockets_;
  std::vector<std::thread> threads_;
  bool stopping_ = false;

  std::mutex exchange_mutex_;
  std::thread acceptor_;
};

} // namespace tinkaf::test
