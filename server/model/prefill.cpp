// SPDX-License-Identifier: Apache-2.0
#include "server/model/prefill.hpp"

#include "server/model/kernels.hpp"
#include "server/model/pass_blocks.hpp"
#include "server/model/row_products.hpp"

#include <algorithm>
#include <cmath>

namespace tinkaf::model {

using kernels::gemm;
using kernels::Op;

bool Prefill::run(const WeightsView& weights, const RopeTable& rope,
                  std::span<const std::int32_t> tokens, bool all, const ReadLogits& read,
                  KeyValues& memory, ThreadPool* pool, const std::stop_token& stop) {
  weights_ = weights;
  rope_ = &rope;
  pool_ = pool;
  while (memory.length < tokens.size()) {
    if (stop.stop_requested())
      return false;
    const auto begin = memory.length;
    const auto rows = std::min(KeyValueBlock::tokens, tokens.size() - begin);
    read_block(tokens.subspan(begin, rows), memory);
    if (all || memory.length == tokens.size())
      show_logits(begin, rows, all, read);
  }
  return true;
}

void Prefill::map(Linear first, std::size_t layer, std::size_t rows, std::size_t offset,
                  std::size_t in, std::size_t out, const float* x, float* y, bool add) {
  linear(pool_, rows, in, out, x, weights_.matrix(offset), y, add);
  add_adapter(weights_, first, layer, rows, out, x, y, low_rank_);
}

void Prefill::read_block(std::span<const std::int32_t> tokens, KeyValues& memory) {
  const auto& c = *weights_.config;
  const auto rows = tokens.size();
  const auto hidden = c.hidden_size;
  const auto kv = 2 * c.kv_width();
  const auto qkv = c.query_width() + kv;
  grow(stream_, rows * hidden);
  grow(normed_, rows * hidden);
  grow(inverses_, rows * c.num_attention_heads);
  grow(qkv_, rows * qkv);
  grow(attended_, rows * c.query_width());
  grow(gate_up_, rows * 2 * c.intermediate_size);
  grow(activated_, rows * c.intermediate_size);
  grow(scores_, rows * (memory.length + rows));
  const auto& block = memory.blocks.emplace_back(std::make_shared<KeyValueBlock>(c));
  for (std::size_t i = 0; i < rows; ++i)
    widen(hidden,
          weights_.matrix(weights_.layout->embedding)
              .at(static_cast<std::size_t>(tokens[i]) * hidden),
          stream_.data() + i * hidden);
  for (std::size_t n = 0; n < c.num_hidden_layers; ++n) {
    const auto& at = weights_.layout->layers[n];
    kernels::rmsnorm(rows, hidden, c.rms_norm_eps, stream_.data(),
                     weights_.vector(at.attention_norm), normed_.data(), inverses_.data());
    map(Linear::q, n, rows, at.q, hidden, qkv, normed_.data(), qkv_.data());
    if (c.qk_norm) {
      kernels::headnorm(rows, c.num_attention_heads, c.head_dim, c.rms_norm_eps,
                        weights_.vector(at.q_norm), qkv_.data(), qkv, inverses_.data());
      kernels::headnorm(rows, c.num_key_value_heads, c.head_dim, c.rms_norm_eps,
                        weights_.vector(at.k_norm), qkv_.data() + c.query_width(), qkv,
                        inverses_.data());
    }
    kernels::rope(rows, c.num_attention_heads + c.num_key_value_heads, c.head_dim,
                  rope_->cosines(memory.length), rope_->sines(memory.length), 1.0F, qkv_.data(),
                  qkv);
    for (std::size_t i = 0; i < rows; ++i)
      std::copy_n(qkv_.data() + i * qkv + c.query_width(), kv, block->layer(n) + i * kv);
    attend(n, rows, memory);
    map(Linear::o, n, rows, at.o, c.query_width(), hidden, attended_.data(), stream_.data(), true);
    kernels::rmsnorm(rows, hidden, c.rms_norm_eps, stream_.data(), weights_.vector(at.mlp_norm),
                     normed_.data(), inverses_.data());
    map(Linear::gate, n, rows, at.gate, hidden, 2 * c.intermediate_size, normed_.data(),
        gate_up_.data());
    kernels::swiglu(rows, c.intermediate_size, gate_up_.data(),
                    gate_up_.data() + c.intermediate_size, 2 * c.intermediate_size,
                    activated_.data());
    map(Linear::down, n, rows, at.down, c.intermediate_size, hidden, activated_.data(),
        stream_.data(), true);
  }
  memory.length += rows;
}

void Prefill::attend(std::size_t layer, std::size_t rows, const KeyValues& memory) {
  const auto& c = *weights_.config;
  const auto dim = c.head_dim;
  const auto kv = 2 * c.kv_width();
  const auto qkv = c.query_width() + kv;
  const auto sharing = c.num_attention_heads / c.num_key_value_heads;
  const float scale = 1.0F / std::sqrt(static_cast<float>(dim));
  const auto known = memory.length + rows;
  for (std::size_t h = 0; h < c.num_attention_heads; ++h) {
    const auto head = h / sharing * dim;
    for (std::size_t b = 0; b < memory.blocks.size(); ++b) {
      const auto first = b * KeyValueBlock::tokens;
      const auto width = std::min(KeyValueBlock::tokens, known - first);
      gemm(rows, width, dim, scale, {qkv_.data() + h * dim, qkv},
           {memory.blocks[b]->layer(layer) + head, kv, Op::transposed}, 0.0F,
           scores_.data() + first, known);
    }
    kernels::causal_softmax(rows, known, memory.length + 1, scores_.data(), known);
    for (std::size_t b = 0; b < memory.blocks.size(); ++b) {
      const auto first = b * KeyValueBlock::tokens;
      const auto width = std::min(KeyValueBlock::tokens, known - first);
      gemm(rows, dim, width, 1.0F, {scores_.data() + first, known},
           {memory.blocks[b]->layer(layer) + c.kv_width() + head, kv}, b == 0 ? 0.0F : 1.0F,
           attended_.data() + h * dim, c.query_width());
    }
  }
}

void Prefill::show_logits(std::size_t begin, std::size_t rows, bool all, const ReadLogits& read) {
  const auto& c = *weights_.config;
  const auto hidden = c.hidden_size;
  kernels::rmsnorm(rows, hidden, c.rms_norm_eps, stream_.data(),
                   weights_.vector(weights_.layout->final_norm), normed_.data(), inverses_.data());
  // Those of the last token are computed alike whether or not others are asked for.
  const auto last = rows - 1;
  const auto shown = all ? last : 0;
  const auto count = shown + 1;
  grow(logits_, count * c.vocab_size);
  const auto products = [&](std::size_t from, std::size_t n, float* out) {
    const float* x = normed_.data() + from * hidden;
    row_products(pool_, n, hidden, c.vocab_size, x, weights_.matrix(weights_.layout->head), out,
                 c.vocab_size);
    add_adapter(weights_, Linear::unembed, 0, n, c.vocab_size, x, out, low_rank_);
  };
  if (shown > 0)
    products(0, shown, logits_.data());
  products(last, 1, logits_.data() + shown * c.vocab_size);
  for (std::size_t i = 0; i < count; ++i)
    read(begin + (all ? i : last), {logits_.data() + i * c.vocab_size, c.vocab_size});
}

} // namespace tinkaf::model
