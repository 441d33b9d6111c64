// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace tinkaf {

/// The text with everything made visible that would do something to a terminal or a log, or that
/// is no UTF-8: a control character or a mark of direction becomes its escape, as in "\n", "\x1b"
/// or "\u{202e}", a byte that belongs to no character becomes "\xff". The same text if there is no
/// such thing, so that nothing changes by being made visible twice.
[[nodiscard]] std::string visible(std::string_view text);

} // namespace tinkaf
