// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace tinkaf::text {

/// Unicode's normalization form C of a text: what can be one character becomes one. Bytes that are
/// not UTF-8 stay as they are.
[[nodiscard]] std::string to_nfc(std::string_view text);

} // namespace tinkaf::text
