// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/http/http_message.hpp"
#include "messages/error.hpp"
#include "messages/secret.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace tinkaf {

struct HttpClientOptions {
  /// Address that paths are appended to; may have a path of its own. No trailing slash needed.
  std::string base_url;

  std::string user_agent = "tinkaf";

  /// Time to open a connection, TLS included.
  std::chrono::milliseconds connect_timeout{5'000};

  /// File with the authorities to trust; the system's if empty.
  std::string ca_file;

  /// Check the server's certificate. Switching it off is logged by the caller.
  bool verify_tls = true;

  /// Never offer HTTP/2.
  bool force_http1 = false;

  /// Address of a proxy, empty for none; if unset, the environment decides.
  std::optional<Secret> proxy;

  /// Transfers under way at once; more wait in our own queue, where no time-out runs.
  std::size_t max_connections = 1'000;

  /// An answer beyond this is refused; guards memory against a mad peer.
  std::size_t max_response_bytes = std::size_t{1} << 30;
};

/// Makes HTTP requests: one libcurl multi handle on one thread of its own.
///
/// Any status is an answer; an error is `Errc::connection`, `Errc::timeout`, `Errc::cancelled` or
/// `Errc::protocol_error`, with `ambiguous` set where the request may have reached the server.
///
/// Thread-safe. Callbacks run on the client's own thread, one at a time, and must not block; they
/// may call `submit` and `abort`. Every submitted request is answered exactly once: the destructor
/// aborts what is under way and answers it, and what is queued, with `Errc::cancelled`; it must not
/// run in a callback.
class HttpClient {
public:
  using Id = std::uint64_t;
  using Callback = std::function<void(Result<HttpResponse>)>;

  /// Starts the thread.
  /// @returns `Errc::invalid_argument` if `base_url` is not an http or https address
  [[nodiscard]] static Result<std::unique_ptr<HttpClient>> create(HttpClientOptions options);

  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// Queues a request; never blocks on the network.
  Id submit(HttpRequest request, Callback callback);

  /// Gives a request up; its callback gets `Errc::cancelled` unless it has already been answered.
  void abort(Id id);

private:
  class Loop;
  explicit HttpClient(std::unique_ptr<Loop> loop);

  std::unique_ptr<Loop> loop_;
};

} // namespace tinkaf
