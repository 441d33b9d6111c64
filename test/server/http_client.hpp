// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace tinkaf::test {

/// One answer as it came. Status 0: the server closed the connection without one.
struct HttpAnswer {
  int status = 0;

  /// Names in lower case.
  std::map<std::string, std::string> headers;
  std::string body;
};

/// One connection to a server of this machine, blocking; what is sent may be no HTTP at all.
class HttpClient {
public:
  explicit HttpClient(std::uint16_t port);
  ~HttpClient();
  HttpClient(HttpClient&& other) noexcept;
  HttpClient& operator=(HttpClient&& other) noexcept;

  void send(std::string_view bytes);
  void send(std::string_view method, std::string_view path, std::string_view body,
            const std::map<std::string, std::string>& headers = {});

  /// Waits for an answer, at most half a minute. One in chunks, or without a length, is put
  /// together.
  [[nodiscard]] HttpAnswer receive();

  /// Everything up to the first place of `mark`, with it, as it came, while the answer is still
  /// under way. What does not hold it ends with the connection, or after half a minute.
  [[nodiscard]] std::string receive_until(std::string_view mark);

  /// Sends and receives.
  [[nodiscard]] HttpAnswer call(std::string_view method, std::string_view path,
                                std::string_view body = {},
                                const std::map<std::string, std::string>& headers = {}) {
    send(method, path, body, headers);
    return receive();
  }

  /// True if the server has closed the connection or does so within half a minute.
  [[nodiscard]] bool is_closed();

private:
  bool receive_some();
  std::string take_line();
  std::string take(std::size_t size);

  int socket_ = -1;
  bool head_ = false; // the answer to come has no body
  std::string pending_;
};

} // namespace tinkaf::test
