// SPDX-License-Identifier: Apache-2.0
#include "api/wire/protobuf_bytes.hpp"

#include <fmt/format.h>

#include <limits>

namespace tinkaf::wire {

namespace {

/// A bfloat16 is the upper half of a float32.
std::vector<float> widen_bfloat16(const std::vector<std::uint16_t>& halves) {
  std::vector<float> out;
  out.reserve(halves.size());
  for (auto half : halves)
    out.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16));
  return out;
}

} // namespace

std::size_t element_size(proto::DType dtype) noexcept {
  switch (dtype) {
  case proto::DTYPE_FLOAT32:
  case proto::DTYPE_INT32:
    return 4;
  case proto::DTYPE_INT64:
    return 8;
  case proto::DTYPE_BFLOAT16:
    return 2;
  default:
    return 0;
  }
}

tl::expected<TensorData::Values, std::string> widen(proto::DType dtype, std::string_view bytes) {
  auto size = element_size(dtype);
  if (size == 0)
    return tl::unexpected(fmt::format("has the unknown dtype {}", static_cast<int>(dtype)));
  if (bytes.size() % size != 0)
    return tl::unexpected(
        fmt::format("has {} bytes, which is no multiple of {}", bytes.size(), size));
  switch (dtype) {
  case proto::DTYPE_FLOAT32:
    return *from_bytes<float>(bytes);
  case proto::DTYPE_INT64:
    return *from_bytes<std::int64_t>(bytes);
  case proto::DTYPE_BFLOAT16:
    return widen_bfloat16(*from_bytes<std::uint16_t>(bytes));
  default: {
    auto narrow = *from_bytes<std::int32_t>(bytes);
    return std::vector<std::int64_t>(narrow.begin(), narrow.end());
  }
  }
}

std::string to_bytes(const TensorData::Values& values) {
  return std::visit([](const auto& x) { return to_bytes(x); }, values);
}

proto::DType dtype_of(const TensorData::Values& values) noexcept {
  return std::holds_alternative<std::vector<float>>(values) ? proto::DTYPE_FLOAT32
                                                            : proto::DTYPE_INT64;
}

Result<void> check_message_size(std::size_t size, std::string_view what) {
  if (size > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    return fail(Errc::invalid_argument,
                fmt::format("{}: {} bytes are more than one message can hold", what, size));
  return {};
}

Result<std::string> serialize(const google::protobuf::MessageLite& message, std::string_view what) {
  if (auto good = check_message_size(message.ByteSizeLong(), what); !good)
    return fail(std::move(good.error()));
  std::string out;
  if (!message.SerializeToString(&out))
    return fail(Errc::internal, fmt::format("{}: it cannot be written", what));
  return out;
}

bool parse(google::protobuf::MessageLite& message, std::string_view bytes) {
  return bytes.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max())
         && message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

} // namespace tinkaf::wire
