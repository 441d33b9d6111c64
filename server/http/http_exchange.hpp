// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/http/body_stream.hpp"
#include "server/http/file_part.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tinkaf::server {

/// Names in lower case, in the order of arrival.
using Headers = std::vector<std::pair<std::string, std::string>>;

/// Returns the first header of that (lower-case) name, or an empty text.
[[nodiscard]] std::string_view header(const Headers& headers, std::string_view name) noexcept;

/// One HTTP request as it came.
struct HttpCall {
  std::string method;

  /// Without the query, not decoded.
  std::string path;

  /// What stands behind `?`, not decoded.
  std::string query;

  /// What stands in the variable parts of the path, decoded; set once the call is known.
  std::vector<std::string> arguments;

  Headers headers;

  /// Still packed if `content-encoding` says so.
  std::string body;
};

/// One HTTP answer. `Content-Length` and `Connection` are added when it is sent.
struct HttpReply {
  int status = 200;
  std::string content_type = "application/json";
  Headers headers;

  /// Shared, so that many polls of one result hold one copy; null for no body.
  std::shared_ptr<const std::string> body;

  /// Sent in the place of `body`, read on the way.
  std::optional<FilePart> file;

  /// Sent in the place of `body`, in chunks as they are written.
  std::shared_ptr<BodyStream> stream;

  /// Nothing is sent, and the connection is closed; for tests of clients.
  bool dropped = false;

  [[nodiscard]] static HttpReply json(int status, std::string body);
};

/// The right to answer one request, from any thread and at any time. Copies stand for the same
/// request: the first `send` counts, later ones do nothing. If all copies go without an answer, the
/// client gets a 500.
class Responder {
public:
  using Send = std::function<void(HttpReply)>;

  Responder() = default;

  /// @param send called exactly once
  explicit Responder(Send send);

  void send(HttpReply reply) const;

private:
  class State;
  std::shared_ptr<State> state_;
};

} // namespace tinkaf::server
