// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/model/key_values.hpp"
#include "server/model/transformer.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace tinkaf::model {

/// One sequence that is to be continued by a token.
struct DecodeRow {
  /// All rows of a call have the same base; adapters may differ.
  WeightsView weights;
  KeyValues* memory = nullptr;
  std::int32_t token = 0;

  /// Takes the logits of the token after it, [vocab].
  std::vector<float>* logits = nullptr;
};

/// Reads one more token of each of several sequences: the base is read from memory once for all.
/// A sequence gets the same bits whatever others are beside it and however many threads help.
/// Working memory of one thread.
class Decoder {
public:
  /// @param pool helpers; null for none
  void step(std::span<DecodeRow> rows, const RopeTable& rope, ThreadPool* pool);

private:
  void map(Linear first, std::size_t layer, std::size_t offset, std::size_t in, std::size_t out,
           const float* x, float* y, std::size_t ldy, bool add = false);
  void add_adapters(Linear first, std::size_t layer, std::size_t in, const float* x, float* y,
                    std::size_t ldy);
  void read_layers(const RopeTable& rope);
  void attend(std::size_t layer, std::size_t row, float* scores);

  std::span<DecodeRow> rows_;
  ThreadPool* pool_ = nullptr;
  WeightsView base_;
  std::size_t longest_ = 0;      // tokens that a row knows, the new one included
  std::vector<float> stream_;    // [rows, hidden]
  std::vector<float> normed_;    // [rows, hidden]
  std::vector<float> inverses_;  // [rows, heads]
  std::vector<float> qkv_;       // [rows, q + k + v]
  std::vector<float> attended_;  // [rows, q]
  std::vector<float> gate_up_;   // [rows, 2 * intermediate]
  std::vector<float> activated_; // [rows, intermediate]
  std::vector<float> scores_;    // [rows, longest]
  std::vector<float> low_rank_;  // [rows, rank]
  std::vector<float> logits_;    // [rows, vocab]
};

} // namespace tinkaf::model
