// SPDX-License-Identifier: Apache-2.0
#include "server/model/transformer.hpp"

#include "server/model/kernels.hpp"
#include "server/model/pass_blocks.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace tinkaf::model {

namespace {

using kernels::gemm;
using kernels::Op;

constexpr std::array attention_inputs{Linear::q, Linear::k, Linear::v};
constexpr std::array mlp_inputs{Linear::gate, Linear::up};
constexpr std::array attention_output{Linear::o};
constexpr std::array mlp_output{Linear::down};
constexpr std::array unembedding{Linear::unembed};

} // namespace

std::span<const Linear> linears_from(Linear first) noexcept {
  switch (first) {
  case Linear::q:
    return attention_inputs;
  case Linear::o:
    return attention_output;
  case Linear::gate:
    return mlp_inputs;
  case Linear::down:
    return mlp_output;
  default:
    return unembedding;
  }
}

void add_adapter(const WeightsView& w, Linear first, std::size_t layer, std::size_t rows,
                 std::size_t out, const float* x, float* y, std::vector<float>& scratch) {
  if (w.adapter == nullptr)
    return;
  const auto rank = w.adapter->rank;
  grow(scratch, rows * rank);
  std::size_t column = 0;
  for (const auto linear : linears_from(first)) {
    const auto* l = w.adapter->find(linear, layer);
    if (l == nullptr)
      return; // a group is adapted as a whole or not at all
    gemm(rows, rank, l->in, 1.0F, {x, l->in}, {w.adapter_parameters + l->a, l->in, Op::transposed},
         0.0F, scratch.data(), rank);
    gemm(rows, l->out, rank, w.adapter->scale, {scratch.data(), rank},
         {w.adapter_parameters + l->b, rank, Op::transposed}, 1.0F, y + column, out);
    column += l->out;
  }
}

std::size_t SequencePass::bytes_per_token(const ModelConfig& c) noexcept {
  const auto qk = c.query_width() + c.kv_width();
  const auto layer = 4 * c.hidden_size + qk + c.kv_width() + (c.qk_norm ? qk : 0) + c.query_width()
                     + 3 * c.intermediate_size;
  const auto backward = 5 * c.hidden_size + 2 * c.query_width() + 2 * c.kv_width()
                        + 3 * c.intermediate_size + 2 * attention_block;
  return sizeof(float) * (c.num_hidden_layers * layer + backward);
}

void SequencePass::reserve(const ModelConfig& c, std::size_t t) {
  const auto qkv = c.query_width() + 2 * c.kv_width();
  layers_.resize(c.num_hidden_layers);
  for (auto& s : layers_) {
    grow(s.input, t * c.hidden_size);
    grow(s.attention_inverse, t);
    grow(s.attention_normed, t * c.hidden_size);
    grow(s.qkv, t * qkv);
    if (c.qk_norm) {
      grow(s.raw_qk, t * (c.query_width() + c.kv_width()));
      grow(s.q_inverse, t * c.num_attention_heads);
      grow(s.k_inverse, t * c.num_key_value_heads);
    }
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
  grow(logits_, std::min(logits_block, t) * c.vocab_size);
  grow(scores_, attention_block * t);
}

void SequencePass::forward_map(const WeightsView& w, Linear first, std::size_t layer,
                               std::size_t offset, std::size_t in, std::size_t out, const float* x,
                               float* y, bool add) {
  linear(pool_, length_, in, out, x, w.matrix(offset), y, add);
  add_adapter(w, first, layer, length_, out, x, y, low_rank_);
}

void SequencePass::forward(const WeightsView& w, const RopeTable& rope,
                           std::span<const std::int32_t> tokens, ThreadPool* pool) {
  const auto& c = *w.config;
  const auto t = tokens.size();
  const auto hidden = c.hidden_size;
  const auto qkv = c.query_width() + 2 * c.kv_width();
  length_ = t;
  pool_ = pool;
  reserve(c, t);
  float* stream = layers_.empty() ? last_.data() : layers_[0].input.data();
  for (std::size_t i = 0; i < t; ++i)
    widen(hidden, w.matrix(w.layout->embedding).at(static_cast<std::size_t>(tokens[i]) * hidden),
          stream + i * hidden);
  for (std::size_t n = 0; n < layers_.size(); ++n) {
    auto& s = layers_[n];
    const auto& at = w.layout->layers[n];
    kernels::rmsnorm(t, hidden, c.rms_norm_eps, s.input.data(), w.vector(at.attention_norm),
                     s.attention_normed.data(), s.attention_inverse.data());
    forward_map(w, Linear::q, n, at.q, hidden, qkv, s.attention_normed.data(), s.qkv.data());
    if (c.qk_norm)
      norm_heads(w, n);
    kernels::rope(t, c.num_attention_heads + c.num_key_value_heads, c.head_dim, rope.cosines(0),
                  rope.sines(0), 1.0F, s.qkv.data(), qkv);
    attention_forward(c, s);
    std::copy_n(s.input.data(), t * hidden, s.middle.data());
    forward_map(w, Linear::o, n, at.o, c.query_width(), hidden, s.attended.data(), s.middle.data(),
                true);
    kernels::rmsnorm(t, hidden, c.rms_norm_eps, s.middle.data(), w.vector(at.mlp_norm),
                     s.mlp_normed.data(), s.mlp_inverse.data());
    forward_map(w, Linear::gate, n, at.gate, hidden, 2 * c.intermediate_size, s.mlp_normed.data(),
                s.gate_up.data());
    kernels::swiglu(t, c.intermediate_size, s.gate_up.data(),
                    s.gate_up.data() + c.intermediate_size, 2 * c.intermediate_size,
                    s.activated.data());
    float* next = n + 1 < layers_.size() ? layers_[n + 1].input.data() : last_.data();
    std::copy_n(s.middle.data(), t * hidden, next);
    forward_map(w, Linear::down, n, at.down, c.intermediate_size, hidden, s.activated.data(), next,
                true);
  }
  kernels::rmsnorm(t, hidden, c.rms_norm_eps, last_.data(), w.vector(w.layout->final_norm),
                   final_normed_.data(), final_inverse_.data());
}

void SequencePass::norm_heads(const WeightsView& w, std::size_t n) {
  const auto& c = *w.config;
  const auto& at = w.layout->layers[n];
  auto& s = layers_[n];
  const auto qk = c.query_width() + c.kv_width();
  const auto qkv = qk + c.kv_width();
  for (std::size_t i = 0; i < length_; ++i)
    std::copy_n(s.qkv.data() + i * qkv, qk, s.raw_qk.data() + i * qk);
  kernels::headnorm(length_, c.num_attention_heads, c.head_dim, c.rms_norm_eps, w.vector(at.q_norm),
                    s.qkv.data(), qkv, s.q_inverse.data());
  kernels::headnorm(length_, c.num_key_value_heads, c.head_dim, c.rms_norm_eps, w.vector(at.k_norm),
                    s.qkv.data() + c.query_width(), qkv, s.k_inverse.data());
}

void SequencePass::attention_forward(const ModelConfig& c, LayerState& s) {
  const auto t = length_;
  const auto dim = c.head_dim;
  const auto qkv = c.query_width() + 2 * c.kv_width();
  const auto sharing = c.num_attention_heads / c.num_key_value_heads;
  const float scale = 1.0F / std::sqrt(static_cast<float>(dim));
  float* p = scores_.data();
  for (std::size_t h = 0; h < c.num_attention_heads; ++h) {
    const float* q = s.qkv.data() + h * dim;
    const float* k = s.qkv.data() + c.query_width() + h / sharing * dim;
    const float* v = k + c.kv_width();
    for (std::size_t first = 0; first < t; first += attention_block) {
      const auto rows = std::min(attention_block, t - first);
      const auto width = first + rows;
      gemm(rows, width, dim, scale, {q + first * qkv, qkv}, {k, qkv, Op::transposed}, 0.0F, p, t);
      kernels::causal_softmax(rows, width, first + 1, p, t);
      gemm(rows, dim, width, 1.0F, {p, t}, {v, qkv}, 0.0F,
           s.attended.data() + first * c.query_width() + h * dim, c.query_width());
    }
  }
}

void SequencePass::read_logits(const WeightsView& w, const ReadLogits& read, std::size_t first) {
  const auto hidden = w.config->hidden_size;
  const auto vocab = w.config->vocab_size;
  for (; first < length_; first += logits_block) {
    const auto rows = std::min(logits_block, length_ - first);
    const float* x = final_normed_.data() + first * hidden;
    linear(pool_, rows, hidden, vocab, x, w.matrix(w.layout->head), logits_.data());
    add_adapter(w, Linear::unembed, 0, rows, vocab, x, logits_.data(), low_rank_);
    for (std::size_t i = 0; i < rows; ++i)
      read(first + i, {logits_.data() + i * vocab, vocab});
  }
}

} // namespace tinkaf::model
