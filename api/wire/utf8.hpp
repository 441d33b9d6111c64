// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace tinkaf::wire {

/// True if `text` is well-formed UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// The same text with each byte that is not part of well-formed UTF-8 replaced by U+FFFD.
[[nodiscard]] std::string replace_invalid_utf8(std::string_view text);

/// At most `max_bytes` from the start of `text`, cut between characters, with "..." if it was cut.
[[nodiscard]] std::string excerpt(std::string_view text, std::size_t max_bytes);

} // namespace tinkaf::wire
