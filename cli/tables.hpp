// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/timestamp.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What commands that list things print: for people as tables, for programs as JSON.

namespace tinkaf::cli {

enum class OutputFormat : std::uint8_t { table, json };

/// A size as people read it, by 1024: "512 B", "1.5 KB"; "N/A" if it is absent or negative.
[[nodiscard]] std::string size_text(std::optional<std::int64_t> bytes);

/// A time as seen from `now`: "5 minutes ago", "in 2 hours", "just now", weeks from 8 days on, the
/// date beyond 30 days; "N/A" if it is absent.
[[nodiscard]] std::string time_text(std::optional<Timestamp> time, Timestamp now);

/// Rows below a head, columns as wide as their longest text; control characters are shown as `?`.
[[nodiscard]] std::string table_text(const std::vector<std::string>& head,
                                     const std::vector<std::vector<std::string>>& rows);

/// JSON as commands print it: indented by 2, times in the form "2026-03-04 05:06:07+00:00".
/// @param json well-formed; times are told by the names of the API's fields
[[nodiscard]] std::string pretty_json(std::string_view json);

/// A text as JSON, quotes included.
[[nodiscard]] std::string json_text(std::string_view text);

} // namespace tinkaf::cli
