// SPDX-License-Identifier: Apache-2.0
#include "train/tokenizers_equal.hpp"

#include <fmt/format.h>

#include <cstdint>

namespace tinkaf::train {

std::optional<std::string> token_difference(const text::Tokenizer& one,
                                            const text::Tokenizer& other) {
  if (one.vocab_size() != other.vocab_size())
    return fmt::format("{} tokens and {}", one.vocab_size(), other.vocab_size());
  const auto size = static_cast<std::int32_t>(one.vocab_size());
  for (std::int32_t id = 0; id < size; ++id)
    if (one.token_bytes(id) != other.token_bytes(id))
      return fmt::format("token {} is another", id);
  return std::nullopt;
}

} // namespace tinkaf::train
