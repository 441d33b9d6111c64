// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/http/http_message.hpp"
#include "messages/future.hpp"

#include <string>
#include <string_view>

namespace tinkaf::wire {

/// A body with the media type that says how to read it.
struct EncodedBody {
  std::string content_type;
  std::string body;
};

/// Reads a 2xx answer to `retrieve_future`.
///
/// Understands both result formats, `{"type": "try_again"}`, `{"status": "complete_metadata"}`,
/// `{"error", "category"}`, and `{"status": "pending" | "completed" | "failed"}` of other services.
/// A field `error` is a failure whatever else is there; a missing, negative or odd
/// `response_payload_size` counts as 0.
///
/// @returns `Errc::protocol_error` for anything else, with the HTTP status
[[nodiscard]] Result<FuturePoll> read_future(RequestType type, const HttpResponse& response);

/// Reads the queue state that a 408 may carry; unknown state and no reason if it carries none.
[[nodiscard]] FuturePending read_pending(const HttpResponse& response);

/// Writes the answer to a poll.
/// @param accept the poll's `Accept` header: results of training and sampling are protobuf if it
///   names protobuf, else JSON
[[nodiscard]] Result<EncodedBody> write_future(const FuturePoll& poll, std::string_view request_id,
                                               std::string_view accept);

/// Returns "active", "paused_capacity", "paused_rate_limit" or "unknown".
[[nodiscard]] const char* to_string(QueueState state) noexcept;

/// Reads the service's word for a queue state; any other text is `unknown`.
[[nodiscard]] QueueState parse_queue_state(std::string_view text) noexcept;

} // namespace tinkaf::wire
