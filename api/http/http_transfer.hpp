// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/http/curl_handles.hpp"
#include "api/http/http_address.hpp"
#include "api/http/http_client.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tinkaf {

/// One exchange on its way through libcurl, redirects included.
///
/// libcurl holds pointers into it, so it stays where it is. Not thread-safe.
class HttpTransfer {
public:
  using Clock = std::chrono::steady_clock;

  /// Begins to count the request's time.
  /// @param options, base must outlive the transfer
  /// @param easy a handle that may have been used before; null for a request that is never made
  HttpTransfer(const HttpClientOptions& options, const BaseAddress& base, HttpRequest request,
               HttpClient::Callback callback, CurlEasy easy);

  HttpTransfer(const HttpTransfer&) = delete;
  HttpTransfer& operator=(const HttpTransfer&) = delete;

  /// Counts the time since then as time in a queue.
  void note_wait(Clock::time_point submitted) noexcept {
    waited_ = began_ - submitted;
  }

  /// Sets the handle up for the first exchange, or for the next after `redirects()`.
  [[nodiscard]] Result<void> prepare();

  /// True if the answer that came with `code` sends us elsewhere; `prepare` then goes there.
  [[nodiscard]] Result<bool> redirects(CURLcode code);

  /// What came of it; takes the response out.
  [[nodiscard]] Result<HttpResponse> finish(CURLcode code);

  /// The error of one that is given up.
  [[nodiscard]] Error cancelled() const;

  [[nodiscard]] CURL* handle() const noexcept {
    return easy_.get();
  }

  void answer(Result<HttpResponse> result) noexcept;

  /// Gives the handle back for another transfer; this one must not be asked anything more.
  [[nodiscard]] CurlEasy release() noexcept {
    return std::move(easy_);
  }

private:
  static std::size_t on_body(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t on_header(char* data, std::size_t size, std::size_t count, void* self);

  [[nodiscard]] Result<void> set_headers(bool with_secrets);
  void set_method();
  void set_limits(std::chrono::milliseconds left);

  /// Hands a piece of the body to the request's sink.
  [[nodiscard]] bool pour(std::string_view bytes);
  void set_connection();

  /// True if the request may have reached the peer.
  [[nodiscard]] bool was_sent() const noexcept;
  [[nodiscard]] std::string place() const;
  [[nodiscard]] Error error(Errc code, std::string message) const;

  const HttpClientOptions& options_;
  const BaseAddress& base_;
  HttpRequest request_;
  HttpClient::Callback callback_;
  Clock::time_point began_ = Clock::now();

  Clock::duration waited_{0};

  std::string url_;
  std::string origin_;
  int redirects_ = 0;
  CurlList header_lines_;
  HttpResponse response_;
  bool too_large_ = false;
  bool sink_begun_ = false;
  std::optional<Error> sink_error_;
  std::array<char, CURL_ERROR_SIZE> reason_{};

  // Last, so that it goes first: while it lives, libcurl may look at the rest.
  CurlEasy easy_;
};

} // namespace tinkaf
