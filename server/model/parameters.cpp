// SPDX-License-Identifier: Apache-2.0
#include "server/model/parameters.hpp"

#include "server/model/adapter_config.hpp"

namespace tinkaf::model {

namespace {

constexpr std::size_t linears_per_layer = 7;

struct LinearShape {
  Linear linear;
  const char* suffix;
  std::size_t out;
  std::size_t in;
  std::size_t base;
};

} // namespace

BaseLayout::BaseLayout(const ModelConfig& c) {
  const auto add = [this](std::string name, std::size_t rows, std::size_t columns) {
    tensors.push_back({std::move(name), rows, columns, size});
    size += rows * columns;
    return tensors.back().offset;
  };
  layers.resize(c.num_hidden_layers);
  for (std::size_t i = 0; i < c.num_hidden_layers; ++i) {
    const auto at = "model.layers." + std::to_string(i) + ".";
    auto& layer = layers[i];
    layer.attention_norm = add(at + "input_layernorm.weight", c.hidden_size, 1);
    layer.mlp_norm = add(at + "post_attention_layernorm.weight", c.hidden_size, 1);
    if (c.qk_norm) {
      layer.q_norm = add(at + "self_attn.q_norm.weight", c.head_dim, 1);
      layer.k_norm = add(at + "self_attn.k_norm.weight", c.head_dim, 1);
    }
  }
  final_norm = add("model.norm.weight", c.hidden_size, 1);
  vectors = size;
  embedding = add("model.embed_tokens.weight", c.vocab_size, c.hidden_size);
  for (std::size_t i = 0; i < c.num_hidden_layers; ++i) {
    const auto at = "model.layers." + std::to_string(i) + ".";
    auto& layer = layers[i];
    layer.q = add(at + "self_attn.q_proj.weight", c.query_width(), c.hidden_size);
    layer.k = add(at + "self_attn.k_proj.weight", c.kv_width(), c.hidden_size);
    layer.v = add(at + "self_attn.v_proj.weight", c.kv_width(), c.hidden_size);
    layer.o = add(at + "self_attn.o_proj.weight", c.hidden_size, c.query_width());
    layer.gate = add(at + "mlp.gate_proj.weight", c.intermediate_size, c.hidden_size);
    layer.up = add(at + "mlp.up_proj.weight", c.intermediate_size, c.hidden_size);
    layer.down = add(at + "mlp.down_proj.weight", c.hidden_size, c.intermediate_size);
  }
  head = c.tie_word_embeddings ? embedding : add("lm_head.weight", c.vocab_size, c.hidden_size);
}

AdapterLayout::AdapterLayout(const ModelConfig& c, std::size_t rank_, bool train_attn,
                             bool train_mlp, bool train_unembed)
    : rank(rank_), scale(static_cast<float>(lora_alpha) / static_cast<float>(rank_)),
      index_(c.num_hidden_layers * linears_per_layer + 1, -1) {
  const BaseLayout base{c};
  const auto add = [this](std::size_t layer, std::string name, const LinearShape& s) {
    const auto slot = s.linear == Linear::unembed
                          ? index_.size() - 1
                          : layer * linears_per_layer + static_cast<std::size_t>(s.linear);
    index_[slot] = static_cast<int>(linears.size());
    AdaptedLinear x{std::move(name),    s.linear, layer, s.in, s.out, size,
                    size + rank * s.in, s.base};
    size = x.b + s.out * rank;
    linears.push_back(std::move(x));
  };
  for (std::size_t i = 0; i < c.num_hidden_layers; ++i) {
    const auto at = "model.layers." + std::to_string(i) + ".";
    const auto& l = base.layers[i];
    if (train_attn) {
      for (const auto& s : {
               LinearShape{Linear::q, "q_proj", c.query_width(), c.hidden_size, l.q},
               LinearShape{Linear::k, "k_proj", c.kv_width(), c.hidden_size, l.k},
               LinearShape{Linear::v, "v_proj", c.kv_width(), c.hidden_size, l.v},
               LinearShape{Linear::o, "o_proj", c.hidden_size, c.query_width(), l.o},
           })
        add(i, at + "self_attn." + s.suffix, s);
    }
    if (train_mlp) {
      for (const auto& s : {
               LinearShape{Linear::gate, "gate_proj", c.intermediate_size, c.hidden_size, l.gate},
               LinearShape{Linear::up, "up_proj", c.intermediate_size, c.hidden_size, l.up},
               LinearShape{Linear::down, "down_proj", c.hidden_size, c.intermediate_size, l.down},
           })
        add(i, at + "mlp." + s.suffix, s);
    }
  }
  if (train_unembed)
    add(0, "model.unembed_tokens", {Linear::unembed, "", c.vocab_size, c.hidden_size, base.head});
}

const AdaptedLinear* AdapterLayout::find(Linear linear, std::size_t layer) const noexcept {
  const auto slot = linear == Linear::unembed
                        ? index_.size() - 1
                        : layer * linears_per_layer + static_cast<std::size_t>(linear);
  return index_[slot] < 0 ? nullptr : &linears[static_cast<std::size_t>(index_[slot])];
}

} // namespace tinkaf::model
