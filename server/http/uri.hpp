// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tinkaf::server {

/// Replaces `%XX` by the byte that it stands for; nothing if one is malformed.
[[nodiscard]] std::optional<std::string> percent_decode(std::string_view text);

/// The decoded value of the first parameter of that name; nothing if it is missing or malformed.
/// @param query what stands behind `?`
[[nodiscard]] std::optional<std::string> query_value(std::string_view query, std::string_view name);

} // namespace tinkaf::server
