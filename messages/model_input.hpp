// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tinkaf {

/// A token id; the wire carries 32 bits.
using Token = std::int32_t;

/// A run of tokens.
struct EncodedTextChunk {
  std::vector<Token> tokens;

  friend bool operator==(const EncodedTextChunk&, const EncodedTextChunk&) = default;
};

enum class ImageFormat : std::uint8_t { png, jpeg };

/// Returns "png" or "jpeg".
[[nodiscard]] const char* to_string(ImageFormat format) noexcept;

/// An image file, its bytes inline.
struct ImageChunk {
  /// The file's content, not encoded.
  std::string data;

  ImageFormat format = ImageFormat::png;

  /// How many tokens the caller expects the image to take; the service computes the true count.
  std::optional<std::int32_t> expected_tokens;

  friend bool operator==(const ImageChunk&, const ImageChunk&) = default;
};

/// An image that the service fetches; only for sampling.
struct ImageAssetPointerChunk {
  std::string location;

  ImageFormat format = ImageFormat::png;

  std::optional<std::int32_t> expected_tokens;

  friend bool operator==(const ImageAssetPointerChunk&, const ImageAssetPointerChunk&) = default;
};

/// Discretised audio, in the service's own tensor container.
struct DmelChunk {
  /// The container's bytes, not encoded.
  std::string dmel;

  friend bool operator==(const DmelChunk&, const DmelChunk&) = default;
};

using ModelInputChunk
    = std::variant<EncodedTextChunk, ImageChunk, ImageAssetPointerChunk, DmelChunk>;

/// What a model reads: a sequence of chunks.
struct ModelInput {
  std::vector<ModelInputChunk> chunks;

  /// An input of one text chunk.
  [[nodiscard]] static ModelInput from_ints(std::vector<Token> tokens);

  friend bool operator==(const ModelInput&, const ModelInput&) = default;
};

/// Number of tokens of one chunk.
/// @returns `Errc::invalid_argument` for an image without `expected_tokens` or a malformed dmel
[[nodiscard]] Result<std::int64_t> length(const ModelInputChunk& chunk);

/// Number of tokens of all chunks.
[[nodiscard]] Result<std::int64_t> length(const ModelInput& input);

/// All tokens in order.
/// @returns `Errc::invalid_argument` if a chunk is not text
[[nodiscard]] Result<std::vector<Token>> to_ints(const ModelInput& input);

} // namespace tinkaf
