// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/model/parameters.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace tinkaf::model {

/// The weights of one forward pass: a flat vector in `BaseLayout` order, LoRA already merged.
/// Borrows everything; the owner must outlive the view.
struct WeightsView {
  const ModelConfig* config = nullptr;
  const BaseLayout* layout = nullptr;
  const float* data = nullptr;

  /// The output head [vocab, hidden]; apart because a tied head may be adapted alone.
  const float* head = nullptr;

  const float* at(std::size_t offset) const noexcept {
    return data + offset;
  }
};

/// Where a backward pass adds its gradients: every weight of the base, or an adapter's tensors.
struct GradientSink {
  /// Flat vector in `BaseLayout` order; null for LoRA.
  float* base = nullptr;

  /// The adapter, its parameters and its flat gradient; null for full training.
  const AdapterLayout* adapter = nullptr;
  const float* adapter_parameters = nullptr;
  float* adapter_gradient = nullptr;
};

/// Cosines and sines of the rotary position embedding, [positions, head_dim / 2] each.
class RopeTable {
public:
  RopeTable() = default;
  RopeTable(const ModelConfig& config, std::size_t positions);

  const float* cosines(std::size_t position) const noexcept {
    return cosines_.data() + position * half_;
  }
  const float* sines(std::size_t position) const noexcept {
    return sines_.data() + position * half_;
  }

private:
  std::size_t half_ = 0;
  std::vector<float> cosines_;
  std::vector<float> sines_;
};

/// Forward and backward over one sequence. Holds the activations in between, so it is also the
/// working memory of one thread: use one object per thread and use it again.
class SequencePass {
public:
  /// Computes the logits, [tokens, vocab], of every position. `rope` must cover all positions.
  void forward(const WeightsView& weights, const RopeTable& rope,
               std::span<const std::int32_t> tokens);

  /// Tokens of the last forward pass.
  std::size_t length() const noexcept {
    return length_;
  }

  /// Rotated queries and keys, and values, of a layer in the last forward pass.
  /// Shape: [tokens, q + k + v].
  std::span<const float> queries_keys_values(std::size_t layer) const noexcept {
    return layers_[layer].qkv;
  }

  /// Logits of the last forward pass. May be overwritten with their gradient.
  std::span<float> logits() noexcept {
    return {logits_.data(), length_ * vocab_};
  }
  std::span<float> logits_row(std::size_t position) noexcept {
    return {logits_.data() + position * vocab_, vocab_};
  }

  /// Adds the gradients of the last forward pass to `sink`. `logits()` must hold the gradient of
  /// the loss with respect to the logits; weights and rope must be those of the forward pass.
  void backward(const WeightsView& weights, const RopeTable& rope,
                std::span<const std::int32_t> tokens, const GradientSink& sink);

private:
  struct LayerState {
    std::vector<float> input;             // [tokens, hidden], the residual stream
    std::vector<float> attention_inverse; // [tokens], 1 / rms
    std::vector<float> attention_normed;  // [tokens, hidden]
    std::vector<float> qkv;               // [tokens, q + k + v], rotated
    std::vector<float> probabilities;     // [heads, tokens, tokens]
    std::vector<float> attended;          // [tokens, q]
    std::vector<float> middle;            // [tokens, hidden], after attention
    std::vector<float> mlp_inverse;       // [tokens]
    std::vector<float> mlp_normed;        // [tokens, hidden]
    std::vector<float> gate_up;           // [tokens, 2 * intermediate]
    std::vector<float> activated;         // [tokens, intermediate]
  };

  void reserve(const ModelConfig& config, std::size_t tokens);
  void attention_forward(const ModelConfig& config, LayerState& s);
  void attention_backward(const ModelConfig& config, const LayerState& s);
  void layer_backward(const WeightsView& weights, const RopeTable& rope, std::size_t layer,
                      const GradientSink& sink);
  void weight_gradient(const GradientSink& sink, std::span<const Linear> group, std::size_t layer,
                       std::size_t base_offset, std::size_t in, std::size_t out, const float* x,
                       const float* dy);

  std::size_t length_ = 0;
  std::size_t vocab_ = 0;
  std::vector<LayerState> layers_;
  std::vector<float> last_;          // [tokens, hidden], input of the final norm
  std::vector<float> final_inverse_; // [tokens]
  std::vector<float> final_normed_;  // [tokens, hidden]
  std::vector<float> logits_;        // [tokens, vocab]

  // Scratch of the backward pass.
  std::vector<float> d_stream_;   // [tokens, hidden], gradient of the residual stream
  std::vector<float> d_normed_;   // [tokens, hidden]
  std::vector<float> d_attended_; // [tokens, q]
  std::vector<float> d_qkv_;      // [tokens, q + k + v]
  std::vector<float> d_gate_up_;  // [tokens, 2 * intermediate]
  std::vector<float> d_active_;   // [tokens, intermediate]
  std::vector<float> d_scores_;   // [block, tokens]
  std::vector<float> low_rank_;   // [tokens, 2 * rank]
};

} // namespace tinkaf::model
