// SPDX-License-Identifier: Apache-2.0
#include "server/model/kernels.hpp"
#include "server/model/pass_blocks.hpp"
#include "server/model/transformer.hpp"

#include <algorithm>
#include <cmath>

namespace tinkaf::model {

using kernels::gemm;
using kernels::Op;

void SequencePass::read_logits_backward(const WeightsView& w, const ReadLogits& read,
                                        const GradientSink& sink) {
  const auto hidden = w.config->hidden_size;
  const auto vocab = w.config->vocab_size;
  grow(d_normed_, length_ * hidden);
  for (std::size_t first = 0; first < length_; first += logits_block) {
    const auto rows = std::min(logits_block, length_ - first);
    const float* x = final_normed_.data() + first * hidden;
    linear(pool_, rows, hidden, vocab, x, w.matrix(w.layout->head), logits_.data());
    add_adapter(w, Linear::unembed, 0, rows, vocab, x, logits_.data(), low_rank_);
    for (std::size_t i = 0; i < rows; ++i)
      read(first + i, {logits_.data() + i * vocab, vocab});
    backward_map(w, Linear::unembed, 0, rows, w.layout->head, hidden, vocab, x, logits_.data(),
                 d_normed_.data() + first * hidden, sink);
  }
}

void SequencePass::backward(const WeightsView& w, const RopeTable& rope,
                            std::span<const std::int32_t> tokens, const GradientSink& sink) {
  const auto& c = *w.config;
  const auto t = length_;
  const auto hidden = c.hidden_size;
  grow(d_stream_, t * hidden);
  grow(d_attended_, t * c.query_width());
  grow(d_qkv_, t * (c.query_width() + 2 * c.kv_width()));
  grow(d_gate_up_, t * 2 * c.intermediate_size);
  grow(d_active_, t * c.intermediate_size);
  grow(d_scores_, attention_block * t);
  std::fill_n(d_stream_.data(), t * hidden, 0.0F);
  kernels::rmsnorm_backward(t, hidden, last_.data(), w.vector(w.layout->final_norm),
                            final_inverse_.data(), d_normed_.data(), d_stream_.data(),
                            sink.base ? sink.base + w.layout->final_norm : nullptr);
  for (std::size_t n = layers_.size(); n-- > 0;)
    layer_backward(w, rope, n, sink);
  if (sink.base != nullptr)
    for (std::size_t i = 0; i < t; ++i)
      kernels::axpy(hidden, 1.0F, d_stream_.data() + i * hidden,
                    sink.base + w.layout->embedding + static_cast<std::size_t>(tokens[i]) * hidden);
}

void SequencePass::layer_backward(const WeightsView& w, const RopeTable& rope, std::size_t n,
                                  const GradientSink& sink) {
  const auto& c = *w.config;
  const auto& at = w.layout->layers[n];
  const auto& s = layers_[n];
  const auto t = length_;
  const auto hidden = c.hidden_size;
  const auto inner = c.intermediate_size;
  const auto qkv = c.query_width() + 2 * c.kv_width();
  const auto norm_gradient
      = [&](std::size_t offset) { return sink.base ? sink.base + offset : nullptr; };

  backward_map(w, Linear::down, n, t, at.down, inner, hidden, s.activated.data(), d_stream_.data(),
               d_active_.data(), sink);
  kernels::swiglu_backward(t, inner, s.gate_up.data(), s.gate_up.data() + inner, 2 * inner,
                           d_active_.data(), d_gate_up_.data(), d_gate_up_.data() + inner);
  backward_map(w, Linear::gate, n, t, at.gate, hidden, 2 * inner, s.mlp_normed.data(),
               d_gate_up_.data(), d_normed_.data(), sink);
  kernels::rmsnorm_backward(t, hidden, s.middle.data(), w.vector(at.mlp_norm), s.mlp_inverse.data(),
                            d_normed_.data(), d_stream_.data(), norm_gradient(at.mlp_norm));

  backward_map(w, Linear::o, n, t, at.o, c.query_width(), hidden, s.attended.data(),
               d_stream_.data(), d_attended_.data(), sink);
  attention_backward(c, s);
  kernels::rope(t, c.num_attention_heads + c.num_key_value_heads, c.head_dim, rope.cosines(0),
                rope.sines(0), -1.0F, d_qkv_.data(), qkv);
  if (c.qk_norm)
    norm_heads_backward(w, n, sink);
  // The gradient of the tokens themselves is only wanted when the embedding is trained.
  const bool last = n == 0 && sink.base == nullptr;
  backward_map(w, Linear::q, n, t, at.q, hidden, qkv, s.attention_normed.data(), d_qkv_.data(),
               last ? nullptr : d_normed_.data(), sink);
  if (!last)
    kernels::rmsnorm_backward(t, hidden, s.input.data(), w.vector(at.attention_norm),
                              s.attention_inverse.data(), d_normed_.data(), d_stream_.data(),
                              norm_gradient(at.attention_norm));
}

void SequencePass::norm_heads_backward(const WeightsView& w, std::size_t n,
                                       const GradientSink& sink) {
  const auto& c = *w.config;
  const auto& at = w.layout->layers[n];
  const auto& s = layers_[n];
  const auto qk = c.query_width() + c.kv_width();
  const auto qkv = qk + c.kv_width();
  // Before and after the norm lie at different distances; the gradient is taken row by row.
  for (std::size_t i = 0; i < length_; ++i) {
    kernels::headnorm_backward(1, c.num_attention_heads, c.head_dim, s.raw_qk.data() + i * qk,
                               w.vector(at.q_norm), s.q_inverse.data() + i * c.num_attention_heads,
                               d_qkv_.data() + i * qkv, qkv,
                               sink.base ? sink.base + at.q_norm : nullptr);
    kernels::headnorm_backward(1, c.num_key_value_heads, c.head_dim,
                               s.raw_qk.data() + i * qk + c.query_width(), w.vector(at.k_norm),
                               s.k_inverse.data() + i * c.num_key_value_heads,
                               d_qkv_.data() + i * qkv + c.query_width(), qkv,
                               sink.base ? sink.base + at.k_norm : nullptr);
  }
}

void SequencePass::attention_backward(const ModelConfig& c, const LayerState& s) {
  const auto t = length_;
  const auto dim = c.head_dim;
  const auto qkv = c.query_width() + 2 * c.kv_width();
  const auto sharing = c.num_attention_heads / c.num_key_value_heads;
  const float scale = 1.0F / std::sqrt(static_cast<float>(dim));
  float* p = scores_.data();
  float* ds = d_scores_.data();
  // Heads that share keys and values add to the same gradient.
  std::fill_n(d_qkv_.data(), t * qkv, 0.0F);
  for (std::size_t h = 0; h < c.num_attention_heads; ++h) {
    const auto key = c.query_width() + h / sharing * dim;
    const float* q = s.qkv.data() + h * dim;
    const float* k = s.qkv.data() + key;
    const float* v = k + c.kv_width();
    float* dq = d_qkv_.data() + h * dim;
    float* dk = d_qkv_.data() + key;
    float* dv = dk + c.kv_width();
    for (std::size_t first = 0; first < t; first += attention_block) {
      const auto rows = std::min(attention_block, t - first);
      const auto width = first + rows;
      const float* dout = d_attended_.data() + first * c.query_width() + h * dim;
      // Probabilities are computed again: kept, they would need the square of the length.
      gemm(rows, width, dim, scale, {q + first * qkv, qkv}, {k, qkv, Op::transposed}, 0.0F, p, t);
      kernels::causal_softmax(rows, width, first + 1, p, t);
      gemm(width, dim, rows, 1.0F, {p, t, Op::transposed}, {dout, c.query_width()}, 1.0F, dv, qkv);
      gemm(rows, width, dim, 1.0F, {dout, c.query_width()}, {v, qkv, Op::transposed}, 0.0F, ds, t);
      kernels::causal_softmax_backward(rows, width, first + 1, p, ds, t);
      gemm(rows, dim, width, scale, {ds, t}, {k, qkv}, 0.0F, dq + first * qkv, qkv);
      gemm(width, dim, rows, scale, {ds, t, Op::transposed}, {q + first * qkv, qkv}, 1.0F, dk, qkv);
    }
  }
}

void SequencePass::backward_map(const WeightsView& w, Linear first, std::size_t layer,
                                std::size_t rows, std::size_t offset, std::size_t in,
                                std::size_t out, const float* x, const float* dy, float* dx,
                                const GradientSink& sink) {
  if (sink.base != nullptr)
    gemm(out, in, rows, 1.0F, {dy, out, Op::transposed}, {x, in}, 1.0F, sink.base + offset, in);
  if (dx != nullptr)
    linear_backward(pool_, rows, in, out, dy, w.matrix(offset), dx);
  if (w.adapter == nullptr)
    return;
  const auto rank = w.adapter->rank;
  const float scale = w.adapter->scale;
  grow(low_rank_, 2 * rows * rank);
  float* x_a = low_rank_.data();
  float* dy_b = low_rank_.data() + rows * rank;
  for (const auto map : linears_from(first)) {
    const auto* l = w.adapter->find(map, layer);
    if (l == nullptr)
      return;
    // With y = W x + scale B (A x): dB = scale dy (A x)^T, dA = scale (B^T dy) x^T, and what goes
    // on to x is scale A^T (B^T dy).
    const float* part = dy + (l->base - offset) / in;
    const float* a = w.adapter_parameters + l->a;
    const float* b = w.adapter_parameters + l->b;
    gemm(rows, rank, l->out, scale, {part, out}, {b, rank}, 0.0F, dy_b, rank);
    if (dx != nullptr)
      gemm(rows, in, rank, 1.0F, {dy_b, rank}, {a, in}, 1.0F, dx, in);
    if (sink.adapter == nullptr)
      continue;
    gemm(rows, rank, in, 1.0F, {x, in}, {a, in, Op::transposed}, 0.0F, x_a, rank);
    gemm(l->out, rank, rows, scale, {part, out, Op::transposed}, {x_a, rank}, 1.0F,
         sink.adapter + l->b, rank);
    gemm(rank, in, rows, 1.0F, {dy_b, rank, Op::transposed}, {x, in}, 1.0F, sink.adapter + l->a,
         in);
  }
}

} // namespace tinkaf::model
