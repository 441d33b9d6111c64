// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/model/linear.hpp"
#include "server/model/parameters.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tinkaf::model {

class ThreadPool;

/// The weights of one pass: those of the base, and an adapter on top of them. The adapter is not
/// merged in, so that any number of adapters share one base in memory.
/// Borrows everything; the owners must outlive the view.
struct WeightsView {
  const ModelConfig* config = nullptr;
  const BaseLayout* layout = nullptr;

  /// The vectors, and all else too unless it is packed. In `BaseLayout` order.
  const float* floats = nullptr;

  /// The matrices as bfloat16, the first at 0; null if they are in `floats`.
  const std::uint16_t* packed = nullptr;

  /// Null for the base alone.
  const AdapterLayout* adapter = nullptr;
  const float* adapter_parameters = nullptr;

  const float* vector(std::size_t offset) const noexcept {
    return floats + offset;
  }
  Weights matrix(std::size_t offset) const noexcept {
    if (packed != nullptr)
      return {nullptr, packed + (offset - layout->vectors)};
    return {floats + offset, nullptr};
  }
};

/// Where a backward pass adds its gradients: every weight of the base, or those of the adapter.
struct GradientSink {
  /// Flat vector in `BaseLayout` order; null for LoRA.
  float* base = nullptr;

  /// Flat vector in the order of the adapter's layout; null for full training.
  float* adapter = nullptr;
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

/// Linear maps that read the same input and lie next to each other in the base: one product.
[[nodiscard]] std::span<const Linear> linears_from(Linear first) noexcept;

/// y[rows, out] += the adapter's part of the maps from `first` on, for an input x[rows, in].
/// Does nothing without an adapter.
/// @param scratch grows as needed
void add_adapter(const WeightsView& weights, Linear first, std::size_t layer, std::size_t rows,
                 std::size_t out, const float* x, float* y, std::vector<float>& scratch);

/// Forward and backward over one sequence. Holds the activations in between, so it is also the
/// working memory of one thread: use one object per thread and use it again.
class SequencePass {
public:
  /// Looks at the logits, [vocab], of a position, and may write in their place the gradient of the
  /// loss with respect to them.
  using ReadLogits = std::function<void(std::size_t position, std::span<float> logits)>;

  /// Runs all layers. `rope` must cover all positions.
  /// @param pool helpers; null for none, which gives the same bits
  void forward(const WeightsView& weights, const RopeTable& rope,
               std::span<const std::int32_t> tokens, ThreadPool* pool = nullptr);

  /// Computes the logits of positions from `first` on, a block at a time, and shows them in order.
  void read_logits(const WeightsView& weights, const ReadLogits& read, std::size_t first = 0);

  /// Does the same for all positions and adds the gradients of the output head to `sink`; `read`
  /// must leave gradients behind. To be followed by `backward`.
  void read_logits_backward(const WeightsView& weights, const ReadLogits& read,
                            const GradientSink& sink);

  /// Adds the gradients of the last forward pass below the output head to `sink`. Weights, rope
  /// and tokens must be those of the forward pass.
  void backward(const WeightsView& weights, const RopeTable& rope,
                std::span<const std::int32_t> tokens, const GradientSink& sink);

  /// Tokens of the last forward pass.
  std::size_t length() const noexcept {
    return length_;
  }

  /// Bytes that a pass over one token keeps until the backward pass.
  static std::size_t bytes_per_token(const ModelConfig& config) noexcept;

private:
  struct LayerState {
    std::vector<float> input;             // [tokens, hidden], the residual stream
    std::vector<float> attention_inverse; // [tokens], 1 / rms
    std::vector<float> attention_normed;  // [tokens, hidden]
    std::vector<float> raw_qk;            // [tokens, q + k] before their norm, if they have one
    std::vector<float> q_inverse;         // [tokens, heads]
    std::vector<float> k_inverse;         // [tokens, key heads]
    std::vector<float> qkv;               // [tokens, q + k + v], rotated
    std::vector<float> attended;          // [tokens, q]
    std::vector<float> middle;            // [tokens, hidden], after attention
    std::vector<float> mlp_inverse;       // [tokens]
    std::vector<float> mlp_normed;        // [tokens, hidden]
    std::vector<float> gate_up;           // [tokens, 2 * intermediate]
    std::vector<float> activated;         // [tokens, intermediate]
  };

  void reserve(const ModelConfig& config, std::size_t tokens);
  void forward_map(const WeightsView& weights, Linear first, std::size_t layer, std::size_t offset,
                   std::size_t in, std::size_t out, const float* x, float* y, bool add = false);
  void backward_map(const WeightsView& weights, Linear first, std::size_t layer, std::size_t rows,
                    std::size_t offset, std::size_t in, std::size_t out, const float* x,
                    const float* dy, float* dx, const GradientSink& sink);
  void norm_heads(const WeightsView& weights, std::size_t layer);
  void norm_heads_backward(const WeightsView& weights, std::size_t layer, const GradientSink& sink);
  void attention_forward(const ModelConfig& config, LayerState& s);
  void attention_backward(const ModelConfig& config, const LayerState& s);
  void layer_backward(const WeightsView& weights, const RopeTable& rope, std::size_t layer,
                      const GradientSink& sink);

  ThreadPool* pool_ = nullptr;
  std::size_t length_ = 0;
  std::vector<LayerState> layers_;
  std::vector<float> last_;          // [tokens, hidden], input of the final norm
  std::vector<float> final_inverse_; // [tokens]
  std::vector<float> final_normed_;  // [tokens, hidden]
  std::vector<float> logits_;        // [block, vocab]
  std::vector<float> scores_;        // [block, tokens]
  std::vector<float> low_rank_;      // [tokens, 2 * rank]

  // Scratch of the backward pass.
  std::vector<float> d_stream_;   // [tokens, hidden], gradient of the residual stream
  std::vector<float> d_normed_;   // [tokens, hidden]
  std::vector<float> d_attended_; // [tokens, q]
  std::vector<float> d_qkv_;      // [tokens, q + k + v]
  std::vector<float> d_gate_up_;  // [tokens, 2 * intermediate]
  std::vector<float> d_active_;   // [tokens, intermediate]
  std::vector<float> d_scores_;   // [block, tokens]
};

} // namespace tinkaf::model
