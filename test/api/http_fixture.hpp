// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/http/http_client.hpp"
#include "test/catch.hpp"
#include "test/support/scripted_peer.hpp"

#include <chrono>
#include <future>
#include <memory>

namespace tinkaf::test {

inline std::unique_ptr<HttpClient> make_client(const std::string& base_url,
                                               HttpClientOptions options = {}) {
  options.base_url = base_url;
  auto client = HttpClient::create(std::move(options));
  REQUIRE(client.has_value());
  return std::move(*client);
}

inline HttpRequest post(std::string path, std::string body = "{}") {
  return {.path = std::move(path), .body = std::make_shared<const std::string>(std::move(body))};
}

/// An answer to come.
class Reply {
public:
  Reply(HttpClient& client, HttpRequest request) {
    auto promise = std::make_shared<std::promise<Result<HttpResponse>>>();
    future_ = promise->get_future();
    id_ = client.submit(std::move(request), [promise](Result<HttpResponse> result) {
      promise->set_value(std::move(result));
    });
  }

  [[nodiscard]] HttpClient::Id id() const noexcept {
    return id_;
  }

  /// Waits for it; fails the test after 20 s.
  Result<HttpResponse> get() {
    REQUIRE(future_.wait_for(std::chrono::seconds{20}) == std::future_status::ready);
    return future_.get();
  }

  Error error() {
    auto result = get();
    REQUIRE_FALSE(result.has_value());
    return result.error();
  }

  HttpResponse response() {
    auto result = get();
    INFO((result ? "" : to_string(result.error())));
    REQUIRE(result.has_value());
    return *result;
  }

private:
  std::future<Result<HttpResponse>> future_;
  HttpClient::Id id_ = 0;
};

} // namespace tinkaf::test
