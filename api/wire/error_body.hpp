// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/http/http_message.hpp"
#include "messages/error.hpp"

#include <chrono>
#include <optional>
#include <string_view>

namespace tinkaf::wire {

/// Turns an answer outside 2xx into an error.
///
/// The message is the service's own text where there is one (`detail` as text or as the list of a
/// validator, `message`, `error`, or the plain body), at most about 2000 characters. Also read:
/// `category`, `request_id` (else `x-request-id`), `retry-after-ms`, `retry-after` (seconds or a
/// date) and `x-should-retry`. A 400 without a body comes from a proxy at the edge and is
/// `Errc::connection`. Nothing of the request is repeated.
///
/// @param what the call, for the message, for example "create_model"
/// @param now the time that a date in `retry-after` is compared with
[[nodiscard]] Error read_error(std::string_view what, const HttpResponse& response,
                               std::chrono::system_clock::time_point now
                               = std::chrono::system_clock::now());

/// How long the answer asks to wait; nothing if it does not, or not in a form that we know.
[[nodiscard]] std::optional<std::chrono::milliseconds>
read_retry_after(const HttpResponse& response, std::chrono::system_clock::time_point now);

} // namespace tinkaf::wire
