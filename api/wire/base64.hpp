// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tinkaf::wire {

/// Encodes bytes in standard base64 with padding.
[[nodiscard]] std::string to_base64(std::string_view bytes);

/// Decodes standard base64; nothing if the text is not exactly that, padding included.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

} // namespace tinkaf::wire
