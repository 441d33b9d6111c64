// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/http/http_exchange.hpp"
#include "server/service_core.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tinkaf::server {

/// What can be told of an operation whose body is wrong.
struct UnreadOperation {
  std::string model_id;
  std::optional<std::int64_t> seq_id;
};

/// Looks for model and number in a body, JSON or protobuf, that may be wrong everywhere else.
[[nodiscard]] UnreadOperation peek(std::string_view body, bool protobuf);

/// Whether a body is protobuf by its type.
[[nodiscard]] bool is_protobuf(const HttpCall& call);

/// Refuses an operation whose body cannot be read. Its number is used up where it can be told,
/// since the client goes on with the next one.
[[nodiscard]] HttpReply refuse_unread(ServiceCore& core, const HttpCall& call, const Error& error);

} // namespace tinkaf::server
