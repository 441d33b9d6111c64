// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/model/key_values.hpp"
#include "server/model/transformer.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>

namespace tinkaf::model {

/// Reads the prompts of samples, a block of tokens at a time.
///
/// The bits of a block depend on the tokens up to its end and on nothing else, as all blocks but
/// the last are of one length and begin at its multiples: a prompt gives the same bits whether the
/// blocks before were computed now or taken from an earlier prompt. Working memory of one thread.
class Prefill {
public:
  /// Shows the logits, [vocab], of a position, valid during the call.
  using ReadLogits = std::function<void(std::size_t position, std::span<float> logits)>;

  /// Reads the tokens that `memory` does not have yet; it must end at a multiple of a block.
  /// @param read if set, is shown the logits of all tokens read, else of the last one
  /// @param pool helpers; null for none, which gives the same bits
  /// @returns whether it came to the end, as `stop` is looked at between blocks
  bool run(const WeightsView& weights, const RopeTable& rope, std::span<const std::int32_t> tokens,
           bool all, const ReadLogits& read, KeyValues& memory, ThreadPool* pool,
           const std::stop_token& stop);

private:
  void read_block(std::span<const std::int32_t> tokens, KeyValues& memory);
  void attend(std::size_t layer, std::size_t rows, const KeyValues& memory);
  void map(Linear first, std::size_t layer, std::size_t rows, std::size_t offset, std::size_t in,
           std::size_t out, const float* x, float* y, bool add = false);
  void show_logits(std::size_t begin, std::size_t rows, bool all, const ReadLogits& read);

  WeightsView weights_;
  const RopeTable* rope_ = nullptr;
  ThreadPool* pool_ = nullptr;
  std::vector<float> stream_;    // [rows, hidden]
  std::vector<float> normed_;    // [rows, hidden]
  std::vector<float> inverses_;  // [rows, heads]
  std::vector<float> qkv_;       // [rows, q + k + v]
  std::vector<float> attended_;  // [rows, q]
  std::vector<float> gate_up_;   // [rows, 2 * intermediate]
  std::vector<float> activated_; // [rows, intermediate]
  std::vector<float> scores_;    // [rows, known tokens]
  std::vector<float> logits_;    // [rows, vocab]
  std::vector<float> low_rank_;
};

} // namespace tinkaf::model
