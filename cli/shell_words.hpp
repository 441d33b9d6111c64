// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace tinkaf::cli {

/// A text as one word for bash: as it is where that is safe, else quoted; line breaks keep their
/// meaning.
[[nodiscard]] std::string shell_word(const std::string& text);

} // namespace tinkaf::cli
