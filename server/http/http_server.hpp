// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "server/http/http_exchange.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace tinkaf::server {

struct HttpServerOptions {
  std::string host = "127.0.0.1";

  /// 0 takes a free one.
  std::uint16_t port = 0;

  std::size_t threads = 2;

  /// Bodies beyond this are refused with 413, before they are read where their length is told.
  std::size_t max_body = std::size_t{64} << 20;

  /// Request line and headers together; beyond it 431.
  std::size_t max_header = std::size_t{32} << 10;

  /// A connection without a request is closed after this.
  std::chrono::milliseconds keep_alive{std::chrono::minutes{2}};

  /// A request or an answer that makes no progress is given up after this.
  std::chrono::milliseconds stall{std::chrono::seconds{30}};

  /// A request is given up if it is not there after this and as many seconds as it has megabytes.
  std::chrono::milliseconds slow_request{std::chrono::minutes{1}};

  /// Further connections are closed as they come.
  std::size_t max_connections = 16'384;

  /// Looks at a request before its body is read (which is empty then). An answer refuses it.
  std::function<std::optional<HttpReply>(const HttpCall&)> refuse;

  /// Called for each request on an HTTP thread; must not block.
  std::function<void(HttpCall, Responder)> handle;

  /// Called on an HTTP thread again and again, never twice at the same time; must not block.
  std::function<void()> tick;
  std::chrono::milliseconds tick_interval{50};
};

/// An HTTP/1.1 server. A request that waits for its answer costs no thread.
class HttpServer {
public:
  /// Begins to listen.
  /// @returns `Errc::conflict` if the address is in use, `Errc::invalid_argument` if it is none of
  ///   this machine; both name host and port
  [[nodiscard]] static Result<std::unique_ptr<HttpServer>> start(HttpServerOptions options);

  /// Calls `stop`.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept;

  /// Stops listening and ticking, closes idle connections, gives answers under way `grace` to get
  /// out, then closes the rest. Afterwards no callback runs and `Responder::send` does nothing.
  void stop(std::chrono::milliseconds grace = std::chrono::seconds{1});

private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

} // namespace tinkaf::server
