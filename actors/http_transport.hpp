// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/client_options.hpp"
#include "api/http/http_client.hpp"

#include <cstdint>
#include <memory>

namespace tinkaf {

/// What carries HTTP requests for an HTTP actor; tests put a script in its place.
class HttpTransport {
public:
  virtual ~HttpTransport() = default;

  /// As `HttpClient::submit`.
  virtual std::uint64_t submit(HttpRequest request, HttpClient::Callback callback) = 0;

  /// As `HttpClient::abort`.
  virtual void abort(std::uint64_t id) = 0;
};

/// The real one: polls have connections of their own, and so has what keeps the session alive, so
/// that neither a thousand waiting polls nor as many submissions keep a heartbeat from its way.
[[nodiscard]] Result<std::shared_ptr<HttpTransport>>
make_http_transport(const ClientOptions& options);

} // namespace tinkaf
