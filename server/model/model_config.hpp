// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace tinkaf::model {

/// How the positions of a short context are stretched over a longer one, as Llama 3.1 does it.
struct RopeScaling {
  double factor = 8.0;
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  double original_max_position_embeddings = 8192.0;

  friend bool operator==(const RopeScaling&, const RopeScaling&) = default;
};

/// Which family of models a checkpoint belongs to.
enum class ModelKind : std::uint8_t { llama, qwen3 };

/// The "model_type" of a `config.json`.
[[nodiscard]] constexpr const char* to_string(ModelKind kind) noexcept {
  return kind == ModelKind::llama ? "llama" : "qwen3";
}

/// The shape of a dense decoder of the Llama or Qwen3 kind, named as in Hugging Face's
/// `config.json`.
struct ModelConfig {
  ModelKind kind = ModelKind::llama;
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
  std::optional<RopeScaling> rope_scaling;

  /// Whether each head of queries and keys is normalised before it is rotated (Qwen3).
  bool qk_norm = false;

  /// Whether the output head is the embedding matrix.
  bool tie_word_embeddings = false;

  /// Tokens that end a sample.
  std::vector<std::int32_t> eos_token_ids{0};

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
