// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tinkaf {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpResponse;

/// Takes the body of a 2xx answer piece by piece as it comes, so that it is never in memory as a
/// whole; other answers keep their bodies. Called on the HTTP client's thread, which it holds up.
/// An error ends the exchange, which then fails with it.
class BodySink {
public:
  virtual ~BodySink() = default;

  /// Status and headers are there; called once an answer, ahead of `write`.
  [[nodiscard]] virtual Result<void> begin(const HttpResponse& head) = 0;

  [[nodiscard]] virtual Result<void> write(std::string_view bytes) = 0;
};

/// One HTTP exchange to make.
struct HttpRequest {
  std::string method = "POST";

  /// Path below the base address with its query, for example "/api/v1/create_session"; or a whole
  /// URL, which then never gets `secret_headers` unless it is of the base address's origin.
  std::string path;

  HttpHeaders headers;

  /// Headers that carry credentials: sent to the base address's origin only, never printed.
  HttpHeaders secret_headers;

  /// Shared, so that a retry costs no copy; null for no body.
  std::shared_ptr<const std::string> body;

  /// Time for the whole exchange, counted from the moment a connection is free for it.
  std::chrono::milliseconds timeout{60'000};

  bool follow_redirects = true;

  /// Gets the body as the server sent it, which is then asked not to compress it.
  std::shared_ptr<BodySink> sink;

  /// Gives up where not a byte has come or gone for this long, in whole seconds; 0 for never.
  std::chrono::seconds stall_timeout{0};
};

/// Any HTTP answer, whatever its status.
struct HttpResponse {
  int status = 0;

  /// In the order of arrival, names in lower case.
  HttpHeaders headers;

  std::string body;

  std::chrono::microseconds elapsed{0};

  /// From the call of `HttpClient::submit` until the first exchange was about to go out: waiting
  /// for a free place, and opening a connection.
  std::chrono::microseconds queued{0};

  /// Returns the first header of that (lower-case) name, or nullptr.
  [[nodiscard]] const std::string* header(std::string_view name) const noexcept {
    for (const auto& [key, value] : headers)
      if (key == name)
        return &value;
    return nullptr;
  }
};

} // namespace tinkaf
