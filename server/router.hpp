// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/http/http_exchange.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tinkaf::server {

class ServiceCore;

/// What a caller must show.
enum class Access : std::uint8_t {
  /// Nothing, or what the path itself holds.
  open,
  /// The key, where the server has one.
  key,
  /// The token for which the key was exchanged, where that is on; else the key.
  token,
};

/// Answers a call at once.
using Answer = HttpReply (*)(ServiceCore&, const HttpCall&);

/// Answers a call at once or later.
using LateAnswer = void (*)(ServiceCore&, const HttpCall&, const Responder&);

struct Route {
  /// Below `/api/v1/`, or `/oai/api/v1/` for calls of OpenAI; `{}` stands for one segment.
  std::string_view path;
  std::string_view method;

  std::variant<Answer, LateAnswer> answer;

  Access access = Access::token;

  /// Reads or writes files or computes, so it is kept off the HTTP threads.
  bool slow = false;
};

/// Whether a path is one of the calls of OpenAI, whose errors and keys have another form.
[[nodiscard]] bool is_openai(std::string_view path) noexcept;

/// What is known of a path.
struct RouteMatch {
  /// Null if there is no such path, or not with this method.
  const Route* route = nullptr;

  /// What stands for each `{}`, decoded.
  std::vector<std::string> arguments;

  /// The methods that the path has; empty if there is no such path.
  std::vector<std::string_view> methods;
};

/// Looks a call up among all calls of the API.
/// @param path without the query, not decoded
[[nodiscard]] RouteMatch find_route(std::string_view method, std::string_view path);

} // namespace tinkaf::server
