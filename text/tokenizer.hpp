// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tinkaf::text {

/// A byte-level BPE tokenizer in the format of Hugging Face's `tokenizer.json`, as the Llama 3,
/// Qwen3 and GPT-2 families have it: normalizer NFC or none, text cut by expressions, `Digits` or
/// `ByteLevel`. Its tokens are those of their `tokenizers` library, without what a post-processor
/// puts around a text.
///
/// Every string of bytes can be encoded, and decoding gives the same bytes back, or their NFC;
/// without those bytes that the vocabulary has no token for, which a few lack.
/// Immutable and cheap to copy; any number of threads may share one.
class Tokenizer {
public:
  /// Reads a `tokenizer.json`.
  /// @returns `Errc::io_error` or `Errc::invalid_argument`, naming the file and the field
  [[nodiscard]] static Result<Tokenizer> load(const std::filesystem::path& file);

  /// Reads the text of a `tokenizer.json`.
  /// @param name what to call the text in errors
  [[nodiscard]] static Result<Tokenizer> parse(std::string_view json, std::string_view name);

  /// Tokens of a text. Added tokens such as `<|im_start|>` are recognised where they stand in the
  /// text, unless `plain` asks to treat them as ordinary characters.
  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text, bool plain = false) const;

  /// The bytes of the tokens one after the other; ids outside the vocabulary are left out.
  /// A multi-byte character whose tokens are incomplete stays incomplete.
  [[nodiscard]] std::string decode(std::span<const std::int32_t> tokens) const;

  /// The bytes of one token; empty for an id outside the vocabulary.
  [[nodiscard]] std::string_view token_bytes(std::int32_t token) const noexcept;

  /// The id of a token given by its text, for example "<|endoftext|>".
  [[nodiscard]] std::optional<std::int32_t> id_of(std::string_view text) const;

  [[nodiscard]] std::size_t vocab_size() const noexcept;

  /// First token of a text and last token of a text, where the vocabulary has a usual one.
  [[nodiscard]] std::optional<std::int32_t> bos() const noexcept;
  [[nodiscard]] std::optional<std::int32_t> eos() const noexcept;

  /// What it knows; for the files beside this one.
  struct Tables;

private:
  explicit Tokenizer(std::shared_ptr<const Tables> tables);

  std::shared_ptr<const Tables> tables_;
};

} // namespace tinkaf::text
