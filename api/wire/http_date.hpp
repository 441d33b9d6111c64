// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace tinkaf::wire {

/// Reads the date format of HTTP headers, for example "Sun, 06 Nov 1994 08:49:37 GMT".
[[nodiscard]] std::optional<std::chrono::system_clock::time_point>
parse_http_date(std::string_view text) noexcept;

/// Writes a time in that format.
[[nodiscard]] std::string to_http_date(std::chrono::sys_seconds time);

} // namespace tinkaf::wire
