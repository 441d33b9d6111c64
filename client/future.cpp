// SPDX-License-Identifier: Apache-2.0
#include "client/future.hpp"

#include "api/wire/future.hpp"
#include "messages/visible_text.hpp"

#include <fmt/format.h>

namespace tinkaf {

namespace {

/// @param results not empty
std::string text_of(const std::vector<PendingResult>& results) {
  const auto& first = results.front();
  auto text = fmt::format("the service has accepted it and its queue state is {}",
                          wire::to_string(first.queue_state));
  if (!first.queue_state_reason.empty())
    text += fmt::format(" ({})", visible(first.queue_state_reason));
  if (results.size() > 1)
    text += fmt::format(", {} parts are missing", results.size());
  return text;
}

} // namespace

Error still_waiting(const std::string& what, std::chrono::milliseconds elapsed,
                    const std::optional<CallStatus>& status) {
  Error error{.code = Errc::timeout,
              .message
              = fmt::format("{} has no result {} ms after the call", what, elapsed.count()),
              .category = default_category(Errc::timeout)};
  if (status && !status->results.empty()) {
    error.request_id = status->results.front().request_id;
    error.message += fmt::format("; {}", text_of(status->results));
  } else if (status) {
    error.message += "; the service has not accepted it yet";
  }
  error.message += "; it goes on and can be waited for again";
  return error;
}

} // namespace tinkaf
