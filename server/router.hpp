// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/http/http_exchange.hpp"

#include <cstdint>
#include <string>
#include <string_view>
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

struct Route {
  /// Below `/api/v1/`; `{}` stands for one segment.
  std::string_view path;
  std::string_view method;

  /// Null for polls, which may be answered later.
  HttpReply (*answer)(ServiceCore&, const HttpCall&);

  Access access = Access::token;

  /// Reads or writes files, so it is kept off the HTTP threads.
  bool slow = false;
};

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
