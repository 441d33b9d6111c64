// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tinkaf::text {

/// Writes bytes as printable characters, as byte-level vocabularies do: printable bytes of
/// Latin-1 stand for themselves, the others for the code points from U+0100 on.
/// The result is UTF-8.
[[nodiscard]] std::string to_printable(std::string_view bytes);

/// Undoes `to_printable`; absent if a character stands for no byte.
[[nodiscard]] std::optional<std::string> from_printable(std::string_view printable);

} // namespace tinkaf::text
