// SPDX-License-Identifier: Apache-2.0
#include "messages/model_input.hpp"

#include <fmt/format.h>

namespace tinkaf {

namespace {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};

// Clang needs it said until release 17.
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

Result<std::int64_t> image_length(const std::optional<std::int32_t>& expected_tokens) {
  if (!expected_tokens)
    return fail(Errc::invalid_argument,
                "an image chunk has no `expected_tokens`, so its length is not known");
  return *expected_tokens;
}

/// Reads an unsigned LEB128 number and moves `pos` behind it.
Result<std::int64_t> read_varint(const std::string& bytes, std::size_t& pos) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 63; shift += 7) {
    if (pos >= bytes.size())
      return fail(Errc::invalid_argument, "dmel: the container's header is truncated");
    auto byte = static_cast<std::uint8_t>(bytes[pos++]);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if ((byte & 0x80) == 0)
      return static_cast<std::int64_t>(value);
  }
  return fail(Errc::invalid_argument, "dmel: a number in the container's header is too long");
}

/// First dimension in a dmel container's header: an optional byte 254, the dtype (0 to 7), the
/// number of dimensions and the dimensions as LEB128.
Result<std::int64_t> dmel_length(const std::string& bytes) {
  constexpr std::uint8_t constant_tensor = 254;
  constexpr std::uint8_t max_dtype = 7;
  std::size_t pos = 0;
  if (!bytes.empty() && static_cast<std::uint8_t>(bytes[0]) == constant_tensor)
    ++pos;
  if (pos >= bytes.size())
    return fail(Errc::invalid_argument, bytes.empty()
                                            ? "dmel: the container is empty"
                                            : "dmel: the container's header is truncated");
  auto dtype = static_cast<std::uint8_t>(bytes[pos++]);
  if (dtype > max_dtype)
    return fail(Errc::invalid_argument, fmt::format("dmel: dtype {} is not known", dtype));
  auto dimensions = read_varint(bytes, pos);
  if (!dimensions)
    return dimensions;
  if (*dimensions < 1)
    return fail(Errc::invalid_argument, "dmel: the container has no dimension 0");
  std::optional<std::int64_t> first;
  for (std::int64_t i = 0; i < *dimensions; ++i) {
    auto dimension = read_varint(bytes, pos);
    if (!dimension)
      return dimension;
    if (!first)
      first = *dimension;
  }
  return *first;
}

} // namespace

const char* to_string(ImageFormat format) noexcept {
  return format == ImageFormat::png ? "png" : "jpeg";
}

ModelInput ModelInput::from_ints(std::vector<Token> tokens) {
  return {.chunks = {EncodedTextChunk{std::move(tokens)}}};
}

Result<std::int64_t> length(const ModelInputChunk& chunk) {
  return std::visit(
      Overloaded{
          [](const EncodedTextChunk& x) -> Result<std::int64_t> {
            return static_cast<std::int64_t>(x.tokens.size());
          },
          [](const ImageChunk& x) { return image_length(x.expected_tokens); },
          [](const ImageAssetPointerChunk& x) { return image_length(x.expected_tokens); },
          [](const DmelChunk& x) { return dmel_length(x.dmel); },
      },
      chunk);
}

Result<std::int64_t> length(const ModelInput& input) {
  std::int64_t total = 0;
  for (const auto& chunk : input.chunks) {
    auto part = length(chunk);
    if (!part)
      return part;
    total += *part;
  }
  return total;
}

Result<std::vector<Token>> to_ints(const ModelInput& input) {
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < input.chunks.size(); ++i) {
    const auto* text = std::get_if<EncodedTextChunk>(&input.chunks[i]);
    if (text == nullptr)
      return fail(Errc::invalid_argument,
                  fmt::format("chunks[{}] is not text, so it has no token ids", i));
    tokens.insert(tokens.end(), text->tokens.begin(), text->tokens.end());
  }
  return tokens;
}

} // namespace tinkaf
