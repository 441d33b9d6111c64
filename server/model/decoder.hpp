// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/model/transformer.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tinkaf::model {

/// Reads a sequence one token at a time and keeps keys and values of what it has read.
/// Copying one continues the same sequence in another way. Use by one thread at a time.
class Decoder {
public:
  /// @param capacity most tokens that will be read
  Decoder(const WeightsView& weights, const RopeTable& rope, std::size_t capacity);

  /// Takes over the sequence of a forward pass, which must have used the same weights.
  void start(SequencePass& pass);

  /// Reads one more token.
  /// @returns the logits of the token after it, [vocab]; valid until the next call
  std::span<const float> read(std::int32_t token);

  /// Logits of the last position, [vocab].
  std::span<const float> logits() const noexcept {
    return logits_;
  }

private:
  void apply(Linear first, std::size_t layer, std::size_t offset, std::size_t in, std::size_t out,
             const float* x, float* y, bool add = false);
  void attend(std::size_t layer);

  WeightsView weights_;
  const RopeTable* rope_;
  std::size_t capacity_;
  std::size_t length_ = 0;
  std::vector<std::vector<float>> keys_values_; // per layer [capacity, keys + values]
  std::vector<float> stream_;                   // [hidden]
  std::vector<float> normed_;                   // [hidden]
  std::vector<float> qkv_;                      // [q + k + v]
  std::vector<float> attended_;                 // [q]
  std::vector<float> gate_up_;                  // [2 * intermediate]
  std::vector<float> activated_;                // [intermediate]
  std::vector<float> scores_;                   // [capacity]
  std::vector<float> logits_;                   // [vocab]
  std::vector<float> inverses_;                 // [heads]
  std::vector<float> low_rank_;                 // [rank]
};

} // namespace tinkaf::model
