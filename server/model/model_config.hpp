// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace tinkaf::model {

/// The shape of a decoder of the Llama kind, named as in Hugging Face's `config.json`.
struct ModelConfig {
  std::size_t vocab_size = 0;
  std::size_t hidden_size = 0;
  std::size_t intermediate_size = 0;
  std::size_t num_hidden_layers = 0;
  std::size_t num_attention_heads = 0;
  std::size_t num_key_value_heads = 0;
  std::size_t head_dim = 0;

  /// Most tokens that a sequence may have.
  std::size_t max_position_embeddings = 0;

  float rms_norm_eps = 1e-5F;
  float rope_theta = 10000.0F;

  /// Whether the output head is the embedding matrix.
  bool tie_word_embeddings = false;

  std::int32_t bos_token_id = 0;
  std::int32_t eos_token_id = 0;

  /// Width of all query heads together.
  std::size_t query_width() const noexcept {
    return num_attention_heads * head_dim;
  }

  /// Width of all key heads (or value heads) together.
  std::size_t kv_width() const noexcept {
    return num_key_value_heads * head_dim;
  }

  friend bool operator==(const ModelConfig&, const ModelConfig&) = default;
};

} // namespace tinkaf::model
