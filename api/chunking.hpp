// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/datum.hpp"
#include "messages/session.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tinkaf {

/// Size of a prompt in bytes as the service's limits on training count it.
[[nodiscard]] std::int64_t estimate_training_bytes(const ModelInput& input);

/// Size of an example in bytes as the service's limits on training count it.
[[nodiscard]] std::int64_t estimate_training_bytes(const Datum& datum);

/// Size of a prompt in bytes as the limits on sampling count it.
[[nodiscard]] std::int64_t estimate_sampling_bytes(const ModelInput& input);

/// How large one training request may be.
struct ChunkLimits {
  /// Examples per request; at least 1.
  std::int64_t max_length = 1'024;

  /// Estimated bytes per request; a single example may exceed it.
  std::int64_t max_bytes = 5'000'000;

  [[nodiscard]] static ChunkLimits from(const ClientConfig& config) {
    return {config.fwdbwd_max_chunk_len, config.fwdbwd_max_chunk_bytes_count};
  }
};

/// A run of examples that travel in one request: [first, last).
struct Chunk {
  std::size_t first = 0;
  std::size_t last = 0;
  std::int64_t bytes = 0;

  friend bool operator==(const Chunk&, const Chunk&) = default;
};

/// Cuts examples of these sizes into requests, greedily and in order; none for no examples.
[[nodiscard]] std::vector<Chunk> plan_chunks(std::span<const std::int64_t> sizes,
                                             const ChunkLimits& limits);

/// The same for examples, by their estimated sizes.
[[nodiscard]] std::vector<Chunk> plan_chunks(std::span<const Datum> data,
                                             const ChunkLimits& limits);

} // namespace tinkaf
