// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tinkaf::text {

/// What kind of vocabulary to learn.
struct BpeOptions {
  /// Size of the vocabulary, the special tokens and the 256 bytes included.
  std::size_t vocab_size = 2048;

  /// Tokens that never come from text; they get the first ids.
  std::vector<std::string> special_tokens{"<|endoftext|>", "<|im_start|>", "<|im_end|>"};

  /// How text is cut before learning: words with the blank before them, single digits, runs of
  /// other signs, runs of white space.
  std::string pattern = R"( ?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
};

/// Learns a byte-level BPE vocabulary from texts: the most frequent pair is merged first; among
/// equals the one with the smaller ids. Same texts, same result.
/// @returns the text of a `tokenizer.json`
[[nodiscard]] Result<std::string> train_bpe(std::span<const std::string> texts,
                                            const BpeOptions& options);

} // namespace tinkaf::text
