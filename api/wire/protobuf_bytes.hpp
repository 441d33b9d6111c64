// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "messages/tensor_data.hpp"

#include <google/protobuf/message_lite.h>

#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <tinker_public.pb.h>

// Buffers of elements and whole messages, both ways.

namespace tinkaf::wire {

static_assert(std::endian::native == std::endian::little,
              "element buffers are little-endian and are copied as they are");

/// The elements as they lie in memory.
template <class T>
[[nodiscard]] std::string to_bytes(const std::vector<T>& values) {
  static_assert(std::is_arithmetic_v<T>);
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// The elements in a buffer; nothing if its length is not a multiple of their size.
template <class T>
[[nodiscard]] std::optional<std::vector<T>> from_bytes(std::string_view bytes) {
  static_assert(std::is_arithmetic_v<T>);
  if (bytes.size() % sizeof(T) != 0)
    return std::nullopt;
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty())
    std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// Size of one element as it travels; 0 for a type that is not in the schema.
[[nodiscard]] std::size_t element_size(proto::DType dtype) noexcept;

/// The elements in our own types: bfloat16 as float32, int32 as int64.
/// @returns why not, as the rest of a sentence that begins with the tensor's name
[[nodiscard]] tl::expected<TensorData::Values, std::string> widen(proto::DType dtype,
                                                                  std::string_view bytes);

/// The elements as they are sent.
[[nodiscard]] std::string to_bytes(const TensorData::Values& values);

/// The element type that is sent for `values`.
[[nodiscard]] proto::DType dtype_of(const TensorData::Values& values) noexcept;

/// Refuses a message of more bytes than readers take.
[[nodiscard]] Result<void> check_message_size(std::size_t size, std::string_view what);

/// Writes a whole message.
[[nodiscard]] Result<std::string> serialize(const google::protobuf::MessageLite& message,
                                            std::string_view what);

/// Reads a whole message; false if `bytes` is none.
[[nodiscard]] bool parse(google::protobuf::MessageLite& message, std::string_view bytes);

} // namespace tinkaf::wire
