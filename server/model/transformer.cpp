// SPDX-License-Identifier: Apache-2.0
#include "server/model/transformer.hpp"

#include "server/model/kernels.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace tinkaf::model {

namespace {

using kernels::gemm;
using kernels::Op;

/// Rows of attention scores computed at once. A block only looks at columns up to its own end,
/// which saves almost half of the work of a full square.
constexpr std::size_t attention_block = 64;

constexpr std::array attention_inputs{Linear::q, Linear::k, Linear::v};
constexpr std::array attention_output{Linear::o};
constexpr std::array mlp_inputs{Linear::gate, Linear::up};
constexpr std::array mlp_output{Linear::down};
constexpr std::array unembedding{Linear::unembed};

void grow(std::vector<float>& x, std::size_t size) {
  if (x.size() < size)
    x.resize(size);
}

/// y[rows, out] = x[rows, in] * W[out, in]^T, plus what y held if `add`.
void apply(std::size_t rows, std::size_t in, std::size_t out, const float* x, const float* w,
           float* y, bool add = false) {
  gemm(rows, out, in, 1.0F, {x, in}, {w, in, Op::transposed}, add ? 1.0F : 0.0F, y, out);
}

/// dx[rows, in] = dy[rows, out] * W[out, in].
void apply_backward(std::size_t rows, std::size_t in, std::size_t out, const float* dy,
                    const float* w, float* dx) {
  gemm(rows, in, out, 1.0F, {dy, out}, {w, in}, 0.0F, dx, in);
}

} // namespace

RopeTable::RopeTable(const ModelConfig& config, std::size_t positions)
    : half_(config.head_dim / 2), cosines_(positions * half_), sines_(positions * half_) {
  for (std::size_t i = 0; i < half_; ++i) {
    const double frequency
        = std::pow(static_cast<double>(config.rope_theta),
                   -static_cast<double>(2 * i) / static_cast<double>(config.head_dim));
    for (std::size_t p = 0; p < positions; ++p) {
      cosines_[p * half_ + i] = static_cast<float>(std::cos(static_cast<double>(p) * frequency));
      sines_[p * half_ + i] = static_cast<float>(std::sin(static_cast<double>(p) * frequency));
    }
  }
}

void SequencePass::reserve(const ModelConfig& c, std::size_t t) {
  const auto qkv = c.query_width() + 2 * c.kv_width();
  layers_.resize(c.num_hidden_layers);
  for (auto& s : layers_) {
    grow(s.input, t * c.hidden_size);
    grow(s.attention_inverse, t);
    grow(s.attention_normed, t * c.hidden_size);
    grow(s.qkv, t * qkv);
    grow(s.probabilities, c.num_attention_heads * t * t);
    grow(s.attended, t * c.query_width());
    grow(s.middle, t * c.hidden_size);
    grow(s.mlp_inverse, t);
    grow(s.mlp_normed, t * c.hidden_size);
    grow(s.gate_up, t * 2 * c.intermediate_size);
    grow(s.activated, t * c.intermediate_size);
  }
  grow(last_, t * c.hidden_size);
  grow(final_inverse_, t);
  grow(final_normed_, t * c.hidden_size);
  grow(logits_, t * c.vocab_size);
}

void SequencePass::forward(const WeightsView& w, const RopeTable& rope,
                           std::span<const std::int32_t> tokens) {
  const auto& c = *w.config;
  const auto t = tokens.size();
  const auto hidden = c.hidden_size;
  const auto qkv = c.query_width() + 2 * c.kv_width();
  length_ = t;
  vocab_ = c.vocab_size;
  reserve(c, t);
  float* stream = layers_.empty() ? last_.data() : layers_[0].input.data();
  for (std::size_t i = 0; i < t; ++i)
    std::copy_n(w.at(w.layout->embedding) + static_cast<std::size_t>(tokens[i]) * hidden, hidden,
                stream + i * hidden);
  for (std::size_t n = 0; n < layers_.size(); ++n) {
    auto& s = layers_[n];
    const auto& at = w.layout->layers[n];
    kernels::rmsnorm(t, hidden, c.rms_norm_eps, s.input.data(), w.at(at.attention_norm),
                     s.attention_normed.data(), s.attention_inverse.data());
    apply(t, hidden, qkv, s.attention_normed.data(), w.at(at.q), s.qkv.data());
    kernels::rope(t, c.num_attention_heads + c.num_key_value_heads, c.head_dim, rope.cosines(0),
                  rope.sines(0), 1.0F, s.qkv.data(), qkv);
    attention_forward(c, s);
    std::copy_n(s.input.data(), t * hidden, s.middle.data());
    apply(t, c.query_width(), hidden, s.attended.data(), w.at(at.o), s.middle.data(), true);
    kernels::rmsnorm(t, hidden, c.rms_norm_eps, s.middle.data(), w.at(at.mlp_norm),
                     s.mlp_normed.data(), s.mlp_inverse.data());
    apply(t, hidden, 2 * c.intermediate_size, s.mlp_normed.data(), w.at(at.gate), s.gate_up.data());
    kernels::swiglu(t, c.intermediate_size, s.gate_up.data(),
                    s.gate_up.data() + c.intermediate_size, 2 * c.intermediate_size,
                    s.activated.data());
    float* next = n + 1 < layers_.size() ? layers_[n + 1].input.data() : last_.data();
    std::copy_n(s.middle.data(), t * hidden, next);
    apply(t, c.intermediate_size, hidden, s.activated.data(), w.at(at.down), next, true);
  }
  kernels::rmsnorm(t, hidden, c.rms_norm_eps, last_.data(), w.at(w.layout->final_norm),
                   final_normed_.data(), final_inverse_.data());
  apply(t, hidden, vocab_, final_normed_.data(), w.head, logits_.data());
}

void SequencePass::attention_forward(const ModelConfig& c, LayerState& s) {
  const auto t = length_;
  const auto dim = c.head_dim;
  const auto qkv = c.query_width() + 2 * c.kv_width();
  const auto sharing = c.num_attention_heads / c.num_key_value_heads;
  const float scale = 1.0F / std::sqrt(static_cast<float>(dim));
  for (std::size_t h = 0; h < c.num_attention_heads; ++h) {
    const float* q = s.qkv.data() + h * dim;
    const float* k = s.qkv.data() + c.query_width() + h / sharing * dim;
    const float* v = k + c.kv_width();
    float* probabilities = s.probabilities.data() + h * t * t;
    for (std::size_t first = 0; first < t; first += attention_block) {
      const auto rows = std::min(attention_block, t - first);
      const auto width = first + rows;
      float* p = probabilities + first * t;
      gemm(rows, width, dim, scale, {q + first * qkv, qkv}, {k, qkv, Op::transposed}, 0.0F, p, t);
      kernels::causal_softmax(rows, width, first + 1, p, t);
      gemm(rows, dim, width, 1.0F, {p, t}, {v, qkv}, 0.0F,
           s.attended.data() + first * c.query_width() + h * dim, c.query_width());
    }
  }
}

void SequencePass::backward(const WeightsView& w, const RopeTable& rope,
                            std::span<const std::int32_t> tokens, const GradientSink& sink) {
  const auto& c = *w.config;
  const auto t = length_;
  const auto hidden = c.hidden_size;
  grow(d_stream_, t * hidden);
  grow(d_normed_, t * hidden);
  grow(d_attended_, t * c.query_width());
  grow(d_qkv_, t * (c.query_width() + 2 * c.kv_width()));
  grow(d_gate_up_, t * 2 * c.intermediate_size);
  grow(d_active_, t * c.intermediate_size);
  grow(d_scores_, attention_block * t);
  if (sink.adapter != nullptr)
    grow(low_rank_, 2 * t * sink.adapter->rank);

  weight_gradient(sink, unembedding, 0, w.layout->head, hidden, vocab_, final_normed_.data(),
                  logits_.data());
  apply_backward(t, hidden, vocab_, logits_.data(), w.head, d_normed_.data());
  std::fill_n(d_stream_.data(), t * hidden, 0.0F);
  kernels::rmsnorm_backward(t, hidden, last_.data(), w.at(w.layout->final_norm),
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

  weight_gradient(sink, mlp_output, n, at.down, inner, hidden, s.activated.data(),
                  d_stream_.data());
  apply_backward(t, inner, hidden, d_stream_.data(), w.at(at.down), d_active_.data());
  kernels::swiglu_backward(t, inner, s.gate_up.data(), s.gate_up.data() + inner, 2 * inner,
                           d_active_.data(), d_gate_up_.data(), d_gate_up_.data() + inner);
  weight_gradient(sink, mlp_inputs, n, at.gate, hidden, 2 * inner, s.mlp_normed.data(),
                  d_gate_up_.data());
  apply_backward(t, hidden, 2 * inner, d_gate_up_.data(), w.at(at.gate), d_normed_.data());
  kernels::rmsnorm_backward(t, hidden, s.middle.data(), w.at(at.mlp_norm), s.mlp_inverse.data(),
                            d_normed_.data(), d_stream_.data(), norm_gradient(at.mlp_norm));

  weight_gradient(sink, attention_output, n, at.o, c.query_width(), hidden, s.attended.data(),
                  d_stream_.data());
  apply_backward(t, c.query_width(), hidden, d_stream_.data(), w.at(at.o), d_attended_.data());
  attention_backward(c, s);
  kernels::rope(t, c.num_attention_heads + c.num_key_value_heads, c.head_dim, rope.cosines(0),
                rope.sines(0), -1.0F, d_qkv_.data(), qkv);
  weight_gradient(sink, attention_inputs, n, at.q, hidden, qkv, s.attention_normed.data(),
                  d_qkv_.data());
  // The gradient of the tokens themselves is only wanted when the embedding is trained.
  if (n == 0 && sink.base == nullptr)
    return;
  apply_backward(t, hidden, qkv, d_qkv_.data(), w.at(at.q), d_normed_.data());
  kernels::rmsnorm_backward(t, hidden, s.input.data(), w.at(at.attention_norm),
                            s.attention_inverse.data(), d_normed_.data(), d_stream_.data(),
                            norm_gradient(at.attention_norm));
}

void SequencePass::attention_backward(const ModelConfig& c, const LayerState& s) {
  const auto t = length_;
  const auto dim = c.head_dim;
  const auto qkv = c.query_width() + 2 * c.kv_width();
  const auto sharing = c.num_attention_heads / c.num_key_value_heads;
  const float scale = 1.0F / std::sqrt(static_cast<float>(dim));
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
    const float* probabilities = s.probabilities.data() + h * t * t;
    for (std::size_t first = 0; first < t; first += attention_block) {
      const auto rows = std::min(attention_block, t - first);
      const auto width = first + rows;
      const float* p = probabilities + first * t;
      const float* dout = d_attended_.data() + first * c.query_width() + h * dim;
      float* ds = d_scores_.data();
      gemm(width, dim, rows, 1.0F, {p, t, Op::transposed}, {dout, c.query_width()}, 1.0F, dv, qkv);
      gemm(rows, width, dim, 1.0F, {dout, c.query_width()}, {v, qkv, Op::transposed}, 0.0F, ds, t);
      kernels::causal_softmax_backward(rows, width, first + 1, p, ds, t);
      gemm(rows, dim, width, scale, {ds, t}, {k, qkv}, 0.0F, dq + first * qkv, qkv);
      gemm(width, dim, rows, scale, {ds, t, Op::transposed}, {q + first * qkv, qkv}, 1.0F, dk, qkv);
    }
  }
}

void SequencePass::weight_gradient(const GradientSink& sink, std::span<const Linear> group,
                                   std::size_t layer, std::size_t base_offset, std::size_t in,
                                   std::size_t out, const float* x, const float* dy) {
  const auto t = length_;
  if (sink.base != nullptr)
    gemm(out, in, t, 1.0F, {dy, out, Op::transposed}, {x, in}, 1.0F, sink.base + base_offset, in);
  if (sink.adapter == nullptr)
    return;
  const auto rank = sink.adapter->rank;
  const float scale = sink.adapter->scale;
  float* x_a = low_rank_.data();
  float* dy_b = low_rank_.data() + t * rank;
  for (const auto linear : group) {
    const auto* l = sink.adapter->find(linear, layer);
    if (l == nullptr)
      continue;
    // With y = W x + scale B (A x): dB = scale dy (A x)^T and dA = scale (B^T dy) x^T.
    const float* part = dy + (l->base - base_offset) / in;
    const float* a = sink.adapter_parameters + l->a;
    const float* b = sink.adapter_parameters + l->b;
    gemm(t, rank, in, 1.0F, {x, in}, {a, in, Op::transposed}, 0.0F, x_a, rank);
    gemm(l->out, rank, t, scale, {part, out, Op::transposed}, {x_a, rank}, 1.0F,
         sink.adapter_gradient + l->b, rank);
    gemm(t, rank, l->out, 1.0F, {part, out}, {b, rank}, 0.0F, dy_b, rank);
    gemm(rank, in, t, scale, {dy_b, rank, Op::transposed}, {x, in}, 1.0F,
         sink.adapter_gradient + l->a, in);
  }
}

} // namespace tinkaf::model
