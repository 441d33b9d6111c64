// SPDX-License-Identifier: Apache-2.0
#include "server/model/decoder.hpp"

#include "server/model/kernels.hpp"
#include "server/model/pass_blocks.hpp"
#include "server/model/row_products.hpp"
#include "server/model/thread_pool.hpp"

#include <algorithm>
#include <cmath>

namespace tinkaf::model {

namespace {

/// Keys and values that attention reads for one row, from which on rows are shared out.
constexpr std::size_t worth_sharing = std::size_t{1} << 16;

bool same_adapter(const DecodeRow& a, const DecodeRow& b) {
  return a.weights.adapter_parameters == b.weights.adapter_parameters;
}

} // namespace

void Decoder::step(std::span<DecodeRow> rows, const RopeTable& rope, ThreadPool* pool) {
  if (rows.empty())
    return;
  rows_ = rows;
  pool_ = pool;
  base_ = rows.front().weights;
  // Rows of one adapter stand together, so that it is read once for them.
  std::stable_sort(rows.begin(), rows.end(), [](const DecodeRow& a, const DecodeRow& b) {
    return std::less<>{}(a.weights.adapter_parameters, b.weights.adapter_parameters);
  });
  const auto& c = *base_.config;
  const auto n = rows.size();
  longest_ = 0;
  for (const auto& row : rows)
    longest_ = std::max(longest_, row.memory->length + 1);
  grow(stream_, n * c.hidden_size);
  grow(normed_, n * c.hidden_size);
  grow(inverses_, n * c.num_attention_heads);
  grow(qkv_, n * (c.query_width() + 2 * c.kv_width()));
  grow(attended_, n * c.query_width());
  grow(gate_up_, n * 2 * c.intermediate_size);
  grow(activated_, n * c.intermediate_size);
  grow(scores_, n * longest_);
  grow(logits_, n * c.vocab_size);
  for (std::size_t i = 0; i < n; ++i) {
    auto& memory = *rows[i].memory;
    if (memory.length % KeyValueBlock::tokens == 0)
      memory.blocks.push_back(std::make_shared<KeyValueBlock>(c));
    widen(c.hidden_size,
          base_.matrix(base_.layout->embedding)
              .at(static_cast<std::size_t>(rows[i].token) * c.hidden_size),
          stream_.data() + i * c.hidden_size);
  }
  read_layers(rope);
  for (std::size_t i = 0; i < n; ++i) {
    ++rows[i].memory->length;
    rows[i].logits->assign(logits_.data() + i * c.vocab_size,
                           logits_.data() + (i + 1) * c.vocab_size);
  }
}

void Decoder::read_layers(const RopeTable& rope) {
  const auto& c = *base_.config;
  const auto n = rows_.size();
  const auto hidden = c.hidden_size;
  const auto inner = c.intermediate_size;
  const auto qkv = c.query_width() + 2 * c.kv_width();
  for (std::size_t l = 0; l < c.num_hidden_layers; ++l) {
    const auto& at = base_.layout->layers[l];
    kernels::rmsnorm(n, hidden, c.rms_norm_eps, stream_.data(), base_.vector(at.attention_norm),
                     normed_.data(), inverses_.data());
    map(Linear::q, l, at.q, hidden, qkv, normed_.data(), qkv_.data(), qkv);
    if (c.qk_norm) {
      kernels::headnorm(n, c.num_attention_heads, c.head_dim, c.rms_norm_eps,
                        base_.vector(at.q_norm), qkv_.data(), qkv, inverses_.data());
      kernels::headnorm(n, c.num_key_value_heads, c.head_dim, c.rms_norm_eps,
                        base_.vector(at.k_norm), qkv_.data() + c.query_width(), qkv,
                        inverses_.data());
    }
    for (std::size_t i = 0; i < n; ++i) {
      const auto position = rows_[i].memory->length;
      float* row = qkv_.data() + i * qkv;
      kernels::rope(1, c.num_attention_heads + c.num_key_value_heads, c.head_dim,
                    rope.cosines(position), rope.sines(position), 1.0F, row, qkv);
      std::copy_n(row + c.query_width(), 2 * c.kv_width(),
                  rows_[i].memory->blocks.back()->layer(l)
                      + position % KeyValueBlock::tokens * 2 * c.kv_width());
    }
    const auto attend_row = [&](std::size_t i) { attend(l, i, scores_.data() + i * longest_); };
    if (pool_ != nullptr && n > 1 && longest_ * c.query_width() >= worth_sharing)
      pool_->run(n, attend_row);
    else
      for (std::size_t i = 0; i < n; ++i)
        attend_row(i);
    map(Linear::o, l, at.o, c.query_width(), hidden, attended_.data(), stream_.data(), hidden,
        true);
    kernels::rmsnorm(n, hidden, c.rms_norm_eps, stream_.data(), base_.vector(at.mlp_norm),
                     normed_.data(), inverses_.data());
    map(Linear::gate, l, at.gate, hidden, 2 * inner, normed_.data(), gate_up_.data(), 2 * inner);
    kernels::swiglu(n, inner, gate_up_.data(), gate_up_.data() + inner, 2 * inner,
                    activated_.data());
    map(Linear::down, l, at.down, inner, hidden, activated_.data(), stream_.data(), hidden, true);
  }
  kernels::rmsnorm(n, hidden, c.rms_norm_eps, stream_.data(),
                   base_.vector(base_.layout->final_norm), normed_.data(), inverses_.data());
  map(Linear::unembed, 0, base_.layout->head, hidden, c.vocab_size, normed_.data(), logits_.data(),
      c.vocab_size);
}

void Decoder::map(Linear first, std::size_t layer, std::size_t offset, std::size_t in,
                  std::size_t out, const float* x, float* y, std::size_t ldy, bool add) {
  row_products(pool_, rows_.size(), in, out, x, base_.matrix(offset), y, ldy, add);
  add_adapters(first, layer, in, x, y, ldy);
}

void Decoder::add_adapters(Linear first, std::size_t layer, std::size_t in, const float* x,
                           float* y, std::size_t ldy) {
  for (std::size_t begin = 0; begin < rows_.size();) {
    auto end = begin + 1;
    while (end < rows_.size() && same_adapter(rows_[begin], rows_[end]))
      ++end;
    const auto count = end - begin;
    const auto& w = rows_[begin].weights;
    std::size_t column = 0;
    for (const auto linear : linears_from(first)) {
      const auto* l = w.adapter == nullptr ? nullptr : w.adapter->find(linear, layer);
      if (l == nullptr)
        break;
      const auto rank = w.adapter->rank;
      grow(low_rank_, count * rank);
      row_products(pool_, count, in, rank, x + begin * in, {w.adapter_parameters + l->a, nullptr},
                   low_rank_.data(), rank);
      for (std::size_t i = 0; i < count * rank; ++i)
        low_rank_[i] *= w.adapter->scale;
      row_products(pool_, count, rank, l->out, low_rank_.data(),
                   {w.adapter_parameters + l->b, nullptr}, y + begin * ldy + column, ldy, true);
      column += l->out;
    }
    begin = end;
  }
}

void Decoder::attend(std::size_t layer, std::size_t row, float* scores) {
  const auto& c = *base_.config;
  const auto dim = c.head_dim;
  const auto kv = 2 * c.kv_width();
  const auto sharing = c.num_attention_heads / c.num_key_value_heads;
  const float scale = 1.0F / std::sqrt(static_cast<float>(dim));
  const auto& memory = *rows_[row].memory;
  const auto known = memory.length + 1;
  const float* queries = qkv_.data() + row * (c.query_width() + kv);
  float* out = attended_.data() + row * c.query_width();
  for (std::size_t h = 0; h < c.num_attention_heads; ++h) {
    const auto head = h / sharing * dim;
    for (std::size_t i = 0; i < known; ++i) {
      const auto& block = *memory.blocks[i / KeyValueBlock::tokens];
      scores[i] = scale
                  * kernels::dot(dim, queries + h * dim,
                                 block.layer(layer) + i % KeyValueBlock::tokens * kv + head);
    }
    kernels::causal_softmax(1, known, known, scores, known);
    std::fill_n(out + h * dim, dim, 0.0F);
    for (std::size_t i = 0; i < known; ++i) {
      const auto& block = *memory.blocks[i / KeyValueBlock::tokens];
      kernels::axpy(dim, scores[i],
                    block.layer(layer) + i % KeyValueBlock::tokens * kv + c.kv_width() + head,
                    out + h * dim);
    }
  }
}

} // namespace tinkaf::model
