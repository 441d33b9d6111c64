// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/http_transport.hpp"
#include "messages/error.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tinkaf::test {

/// Stands in for the network: writes down each request and answers by a script, or not until the
/// test says so.
class ScriptedTransport : public HttpTransport {
public:
  /// Nothing leaves the request open.
  using Script = std::function<std::optional<Result<HttpResponse>>(const HttpRequest&)>;

  struct Sent {
    std::uint64_t id = 0;
    HttpRequest request;
  };

  explicit ScriptedTransport(Script script = {}) : script_(std::move(script)) {}

  std::uint64_t submit(HttpRequest request, HttpClient::Callback callback) override {
    auto id = ++last_id_;
    sent.push_back({id, request});
    auto answer = script_ ? script_(request) : std::nullopt;
    if (answer)
      callback(std::move(*answer));
    else
      open_.emplace(id, std::pair{request, std::move(callback)});
    return id;
  }

  void abort(std::uint64_t id) override {
    aborted.insert(id);
    open_.erase(id);
  }

  /// Answers the oldest open request to `path` whose body has `text`; false if there is none.
  bool answer(const std::string& path, Result<HttpResponse> response,
              const std::string& text = {}) {
    for (auto i = open_.begin(); i != open_.end(); ++i) {
      const auto& request = i->second.first;
      if (request.path != path || (!text.empty() && request.body->find(text) == std::string::npos))
        continue;
      auto callback = std::move(i->second.second);
      open_.erase(i);
      callback(std::move(response));
      return true;
    }
    return false;
  }

  [[nodiscard]] std::size_t open_count() const {
    return open_.size();
  }

  /// Open requests to `path`.
  [[nodiscard]] std::size_t open_count(const std::string& path) const {
    return static_cast<std::size_t>(std::count_if(
        open_.begin(), open_.end(), [&](const auto& x) { return x.second.first.path == path; }));
  }

  std::vector<Sent> sent;
  std::set<std::uint64_t> aborted;

private:
  Script script_;
  std::uint64_t last_id_ = 0;
  std::map<std::uint64_t, std::pair<HttpRequest, HttpClient::Callback>> open_;
};

/// A JSON answer.
inline HttpResponse json(int status, std::string body, HttpHeaders headers = {}) {
  headers.emplace_back("content-type", "application/json");
  headers.emplace_back("content-length", std::to_string(body.size()));
  return {.status = status, .headers = std::move(headers), .body = std::move(body)};
}

inline Result<HttpResponse> no_connection(bool ambiguous) {
  return fail(Error{.code = Errc::connection,
                    .message = ambiguous ? "connection reset" : "connection refused",
                    .ambiguous = ambiguous});
}

/// The text of a header, or empty.
inline std::string header(const HttpHeaders& headers, const std::string& name) {
  for (const auto& [key, value] : headers)
    if (key == name)
      return value;
  return {};
}

} // namespace tinkaf::test
