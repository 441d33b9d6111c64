// SPDX-License-Identifier: Apache-2.0
#include "server/digest.hpp"

#include "api/overloaded.hpp"

#include <fmt/format.h>

#include <type_traits>
#include <variant>

namespace tinkaf::server {

namespace {

__extension__ typedef unsigned __int128 Bits128; // NOLINT(modernize-use-using)

/// FNV-1a with the published parameters for 128 bits.
class Hash {
public:
  Hash& bytes(const void* data, std::size_t size) {
    const auto* begin = static_cast<const unsigned char*>(data);
    for (const auto* at = begin; at != begin + size; ++at)
      state_ = (state_ ^ *at) * prime;
    return *this;
  }

  template <class T>
  requires std::is_arithmetic_v<T> Hash& number(T x) {
    return bytes(&x, sizeof x);
  }

  Hash& text(std::string_view x) {
    return number(x.size()).bytes(x.data(), x.size());
  }

  template <class T>
  Hash& numbers(const std::vector<T>& x) {
    return number(x.size()).bytes(x.data(), x.size() * sizeof(T));
  }

  [[nodiscard]] std::string str() const {
    return fmt::format("{:016x}{:016x}", static_cast<std::uint64_t>(state_ >> 64),
                       static_cast<std::uint64_t>(state_));
  }

private:
  static constexpr Bits128 prime = (Bits128{1} << 88) + 0x13b;

  Bits128 state_ = (Bits128{0x6c62272e07bb0142} << 64) + 0x62b821756295c58d;
};

void add(Hash& hash, const ModelInputChunk& chunk) {
  hash.number(chunk.index());
  std::visit(
      Overloaded{
          [&](const EncodedTextChunk& x) { hash.numbers(x.tokens); },
          [&](const ImageChunk& x) {
            hash.text(x.data).text(to_string(x.format)).number(x.expected_tokens.value_or(-1));
          },
          [&](const ImageAssetPointerChunk& x) {
            hash.text(x.location).text(to_string(x.format)).number(x.expected_tokens.value_or(-1));
          },
          [&](const DmelChunk& x) { hash.text(x.dmel); },
      },
      chunk);
}

void add(Hash& hash, const TensorData& tensor) {
  hash.number(tensor.data.index());
  std::visit([&](const auto& values) { hash.numbers(values); }, tensor.data);
  hash.number(tensor.shape.has_value());
  if (tensor.shape)
    hash.numbers(*tensor.shape);
  hash.number(tensor.sparse.has_value());
  if (tensor.sparse)
    hash.numbers(tensor.sparse->crow_indices).numbers(tensor.sparse->col_indices);
}

} // namespace

std::string digest_of(std::string_view bytes) {
  return Hash{}.bytes(bytes.data(), bytes.size()).str();
}

std::string digest_of(std::string_view call, std::string_view json) {
  return Hash{}.text(call).text(json).str();
}

std::string digest_of(const ForwardBackwardRequest& request) {
  Hash hash;
  hash.text(request.forward_only ? "forward" : "forward_backward").text(to_string(request.loss_fn));
  hash.number(request.loss_fn_config.has_value());
  if (request.loss_fn_config)
    for (const auto& [name, value] : *request.loss_fn_config)
      hash.text(name).number(value);
  for (const auto& datum : request.data.data()) {
    hash.number(datum.model_input.chunks.size());
    for (const auto& chunk : datum.model_input.chunks)
      add(hash, chunk);
    hash.number(datum.loss_fn_inputs.size());
    for (const auto& [name, tensor] : datum.loss_fn_inputs) {
      hash.text(name);
      add(hash, tensor);
    }
  }
  return hash.str();
}

} // namespace tinkaf::server
