// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "server/http/http_exchange.hpp"

#include <string>
#include <string_view>

// Answers that are no results.

namespace tinkaf::server {

/// `{"detail": …, "category": …}`; the category is "user" for 4xx, else "server".
[[nodiscard]] HttpReply error_reply(int status, std::string_view detail);

/// The answer to a request that is refused: `error.http_status` if set, else what fits the code.
[[nodiscard]] HttpReply error_reply(const Error& error);

/// A failure with an HTTP status of its own.
[[nodiscard]] tl::unexpected<Error> fail_with(int status, std::string message);

} // namespace tinkaf::server
