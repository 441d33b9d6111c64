// SPDX-License-Identifier: Apache-2.0
#include "api/chunking.hpp"

#include "api/overloaded.hpp"

#include <algorithm>

namespace tinkaf {

namespace {

// The service's own estimates, per token.
constexpr std::int64_t training_token_bytes = 4;
constexpr std::int64_t sampling_token_bytes = 10;
constexpr std::int64_t index_bytes = 8;

std::int64_t size_of(const auto& container) {
  return static_cast<std::int64_t>(container.size());
}

std::int64_t estimate(const ModelInput& input, std::int64_t token_bytes) {
  std::int64_t bytes = 0;
  for (const auto& chunk : input.chunks)
    bytes += std::visit(
        Overloaded{
            [&](const EncodedTextChunk& x) { return size_of(x.tokens) * token_bytes; },
            [](const ImageChunk& x) { return size_of(x.data); },
            [](const ImageAssetPointerChunk& x) { return size_of(x.location); },
            [](const DmelChunk& x) { return size_of(x.dmel); },
        },
        chunk);
  return bytes;
}

std::int64_t estimate(const TensorData& tensor) {
  auto element_bytes = tensor.dtype() == DType::float32 ? 4 : 8;
  auto bytes = static_cast<std::int64_t>(tensor.size()) * element_bytes;
  if (tensor.sparse)
    bytes += (size_of(tensor.sparse->crow_indices) + size_of(tensor.sparse->col_indices))
             * index_bytes;
  return bytes;
}

} // namespace

std::int64_t estimate_training_bytes(const ModelInput& input) {
  return estimate(input, training_token_bytes);
}

std::int64_t estimate_training_bytes(const Datum& datum) {
  auto bytes = estimate_training_bytes(datum.model_input);
  for (const auto& [name, tensor] : datum.loss_fn_inputs)
    bytes += estimate(tensor);
  return bytes;
}

std::int64_t estimate_sampling_bytes(const ModelInput& input) {
  return estimate(input, sampling_token_bytes);
}

std::vector<Chunk> plan_chunks(std::span<const std::int64_t> sizes, const ChunkLimits& limits) {
  auto max_length = static_cast<std::size_t>(std::max<std::int64_t>(limits.max_length, 1));
  std::vector<Chunk> chunks;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    auto full = chunks.empty() || chunks.back().last - chunks.back().first >= max_length
                || chunks.back().bytes + sizes[i] > limits.max_bytes;
    if (full)
      chunks.push_back({i, i, 0});
    chunks.back().last = i + 1;
    chunks.back().bytes += sizes[i];
  }
  return chunks;
}

std::vector<Chunk> plan_chunks(std::span<const Datum> data, const ChunkLimits& limits) {
  std::vector<std::int64_t> sizes;
  sizes.reserve(data.size());
  for (const auto& datum : data)
    sizes.push_back(estimate_training_bytes(datum));
  return plan_chunks(sizes, limits);
}

} // namespace tinkaf
