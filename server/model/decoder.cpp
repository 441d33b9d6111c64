// SPDX-License-Identifier: Apache-2.0
#include "server/model/decoder.hpp"

#include "server/model/kernels.hpp"

#include <algorithm>
#include <cmath>

namespace tinkaf::model {

namespace {

using kernels::gemm;
using kernels::Op;

/// y[out] = W[out, in] x[in], plus what y held if `add`.
void apply(std::size_t in, std::size_t out, const float* x, const float* w, float* y,
           bool add = false) {
  gemm(1, out, in, 1.0F, {x, in}, {w, in, Op::transposed}, add ? 1.0F : 0.0F, y, out);
}

} // namespace

Decoder::Decoder(const WeightsView& weights, const RopeTable& rope, std::size_t capacity)
    : weights_(weights), rope_(&rope), capacity_(capacity),
      keys_values_(weights.config->num_hidden_layers), stream_(weights.config->hidden_size),
      normed_(weights.config->hidden_size),
      qkv_(weights.config->query_width() + 2 * weights.config->kv_width()),
      attended_(weights.config->query_width()), gate_up_(2 * weights.config->intermediate_size),
      activated_(weights.config->intermediate_size), scores_(capacity),
      logits_(weights.config->vocab_size) {
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
  const auto last = pass.logits_row(length_ - 1);
  std::copy(last.begin(), last.end(), logits_.begin());
}

std::span<const float> Decoder::read(std::int32_t token) {
  const auto& c = *weights_.config;
  const auto hidden = c.hidden_size;
  float unused = 0.0F;
  std::copy_n(weights_.at(weights_.layout->embedding) + static_cast<std::size_t>(token) * hidden,
              hidden, stream_.data());
  for (std::size_t n = 0; n < keys_values_.size(); ++n) {
    const auto& at = weights_.layout->layers[n];
    kernels::rmsnorm(1, hidden, c.rms_norm_eps, stream_.data(), weights_.at(at.attention_norm),
                     normed_.data(), &unused);
    apply(hidden, qkv_.size(), normed_.data(), weights_.at(at.q), qkv_.data());
    kernels::rope(1, c.num_attention_heads + c.num_key_value_heads, c.head_dim,
                  rope_->cosines(length_), rope_->sines(length_), 1.0F, qkv_.data(), qkv_.size());
    attend(n);
    apply(c.query_width(), hidden, attended_.data(), weights_.at(at.o), stream_.data(), true);
    kernels::rmsnorm(1, hidden, c.rms_norm_eps, stream_.data(), weights_.at(at.mlp_norm),
                     normed_.data(), &unused);
    apply(hidden, gate_up_.size(), normed_.data(), weights_.at(at.gate), gate_up_.data());
    kernels::swiglu(1, c.intermediate_size, gate_up_.data(), gate_up_.data() + c.intermediate_size,
                    gate_up_.size(), activated_.data());
    apply(c.intermediate_size, hidden, activated_.data(), weights_.at(at.down), stream_.data(),
          true);
  }
  ++length_;
  kernels::rmsnorm(1, hidden, c.rms_norm_eps, stream_.data(),
                   weights_.at(weights_.layout->final_norm), normed_.data(), &unused);
  apply(hidden, c.vocab_size, normed_.data(), weights_.head, logits_.data());
  return logits_;
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
