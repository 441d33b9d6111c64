// SPDX-License-Identifier: Apache-2.0
#include "server/model/decoder.hpp"

#include "server/model/kernels.hpp"

#include <algorithm>
#include <cmath>

namespace tinkaf::model {

namespace {

using kernels::gemm;
using kernels::Op;

} // namespace

Decoder::Decoder(const WeightsView& weights, const RopeTable& rope, std::size_t capacity)
    : weights_(weights), rope_(&rope), capacity_(capacity),
      keys_values_(weights.config->num_hidden_layers), stream_(weights.config->hidden_size),
      normed_(weights.config->hidden_size),
      qkv_(weights.config->query_width() + 2 * weights.config->kv_width()),
      attended_(weights.config->query_width()), gate_up_(2 * weights.config->intermediate_size),
      activated_(weights.config->intermediate_size), scores_(capacity),
      logits_(weights.config->vocab_size), inverses_(weights.config->num_attention_heads) {
  for (auto& cache : keys_values_)
    cache.resize(capacity * 2 * weights.config->kv_width());
}

void Decoder::start(SequencePass& pass) {
  const auto queries = weights_.config->query_width();
  const auto width = 2 * weights_.config->kv_width();
  length_ = pass.length();
  for (std::size_t n = 0; n < keys_values_.size(); ++n) {
    const auto rows = pass.queries_keys_values(n);
    for (std::size_t i = 0; i < length_; ++i)
      std::copy_n(rows.data() + i * (queries + width) + queries, width,
                  keys_values_[n].data() + i * width);
  }
  pass.read_logits(
      weights_,
      [this](std::size_t, std::span<float> row) {
        std::copy(row.begin(), row.end(), logits_.begin());
      },
      length_ - 1);
}

std::span<const float> Decoder::read(std::int32_t token) {
  const auto& c = *weights_.config;
  const auto hidden = c.hidden_size;
  float unused = 0.0F;
  widen(hidden,
        weights_.matrix(weights_.layout->embedding).at(static_cast<std::size_t>(token) * hidden),
        stream_.data());
  for (std::size_t n = 0; n < keys_values_.size(); ++n) {
    const auto& at = weights_.layout->layers[n];
    kernels::rmsnorm(1, hidden, c.rms_norm_eps, stream_.data(), weights_.vector(at.attention_norm),
                     normed_.data(), &unused);
    apply(Linear::q, n, at.q, hidden, qkv_.size(), normed_.data(), qkv_.data());
    if (c.qk_norm) {
      kernels::headnorm(1, c.num_attention_heads, c.head_dim, c.rms_norm_eps,
                        weights_.vector(at.q_norm), qkv_.data(), 0, inverses_.data());
      kernels::headnorm(1, c.num_key_value_heads, c.head_dim, c.rms_norm_eps,
                        weights_.vector(at.k_norm), qkv_.data() + c.query_width(), 0,
                        inverses_.data());
    }
    kernels::rope(1, c.num_attention_heads + c.num_key_value_heads, c.head_dim,
                  rope_->cosines(length_), rope_->sines(length_), 1.0F, qkv_.data(), qkv_.size());
    attend(n);
    apply(Linear::o, n, at.o, c.query_width(), hidden, attended_.data(), stream_.data(), true);
    kernels::rmsnorm(1, hidden, c.rms_norm_eps, stream_.data(), weights_.vector(at.mlp_norm),
                     normed_.data(), &unused);
    apply(Linear::gate, n, at.gate, hidden, gate_up_.size(), normed_.data(), gate_up_.data());
    kernels::swiglu(1, c.intermediate_size, gate_up_.data(), gate_up_.data() + c.intermediate_size,
                    gate_up_.size(), activated_.data());
    apply(Linear::down, n, at.down, c.intermediate_size, hidden, activated_.data(), stream_.data(),
          true);
  }
  ++length_;
  kernels::rmsnorm(1, hidden, c.rms_norm_eps, stream_.data(),
                   weights_.vector(weights_.layout->final_norm), normed_.data(), &unused);
  apply(Linear::unembed, 0, weights_.layout->head, hidden, c.vocab_size, normed_.data(),
        logits_.data());
  return logits_;
}

void Decoder::apply(Linear first, std::size_t layer, std::size_t offset, std::size_t in,
                    std::size_t out, const float* x, float* y, bool add) {
  linear(nullptr, 1, in, out, x, weights_.matrix(offset), y, add);
  add_adapter(weights_, first, layer, 1, out, x, y, low_rank_);
}

void Decoder::attend(std::size_t layer) {
  const auto& c = *weights_.config;
  const auto dim = c.head_dim;
  const auto width = 2 * c.kv_width();
  const auto sharing = c.num_attention_heads / c.num_key_value_heads;
  const float scale = 1.0F / std::sqrt(static_cast<float>(dim));
  auto& cache = keys_values_[layer];
  std::copy_n(qkv_.data() + c.query_width(), width, cache.data() + length_ * width);
  const auto known = length_ + 1;
  for (std::size_t h = 0; h < c.num_attention_heads; ++h) {
    const float* keys = cache.data() + h / sharing * dim;
    const float* values = keys + c.kv_width();
    gemm(1, known, dim, scale, {qkv_.data() + h * dim, dim}, {keys, width, Op::transposed}, 0.0F,
         scores_.data(), capacity_);
    kernels::causal_softmax(1, known, known, scores_.data(), capacity_);
    gemm(1, dim, known, 1.0F, {scores_.data(), capacity_}, {values, width}, 0.0F,
         attended_.data() + h * dim, dim);
  }
}

} // namespace tinkaf::model
