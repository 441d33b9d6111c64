// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "text/tokenizer.hpp"

#include <optional>
#include <string>

namespace tinkaf::train {

/// What tells two tokenizers' tokens apart: the sizes of the vocabularies, or the first id that
/// stands for other bytes. Nothing if each id means the same to both.
[[nodiscard]] std::optional<std::string> token_difference(const text::Tokenizer& one,
                                                          const text::Tokenizer& other);

} // namespace tinkaf::train
