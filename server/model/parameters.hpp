// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/model/model_config.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace tinkaf::model {

/// The linear maps of the model that LoRA can adapt.
enum class Linear { q, k, v, o, gate, up, down, unembed };

/// One tensor inside a flat parameter vector.
struct Tensor {
  std::string name; ///< Hugging Face name, for example "model.layers.0.self_attn.q_proj.weight"
  std::size_t rows = 0;
  std::size_t columns = 0; ///< 1 for vectors
  std::size_t offset = 0;  ///< of the first element in the flat vector

  std::size_t size() const noexcept {
    return rows * columns;
  }
};

/// Where each tensor of a base model lies in one flat vector: first the vectors (the gains of the
/// norms), then the matrices.
///
/// q, k, v of a layer lie next to each other, and so do gate and up: each group is one matrix
/// for the forward pass.
struct BaseLayout {
  struct Layer {
    std::size_t attention_norm = 0;
    std::size_t q = 0;
    std::size_t k = 0;
    std::size_t v = 0;
    std::size_t o = 0;
    std::size_t q_norm = 0; ///< only with `qk_norm`
    std::size_t k_norm = 0;
    std::size_t mlp_norm = 0;
    std::size_t gate = 0;
    std::size_t up = 0;
    std::size_t down = 0;
  };

  explicit BaseLayout(const ModelConfig& config);

  std::vector<Tensor> tensors;
  std::vector<Layer> layers;
  std::size_t embedding = 0;
  std::size_t final_norm = 0;
  std::size_t head = 0;    ///< equals `embedding` when the head is tied
  std::size_t vectors = 0; ///< where the matrices begin
  std::size_t size = 0;    ///< numbers altogether
};

/// One adapted matrix: W + scale * B * A with A [rank, in] and B [out, rank].
struct AdaptedLinear {
  std::string name; ///< without ".lora_A.weight", for example "model.layers.0.self_attn.q_proj"
  Linear linear = Linear::q;
  std::size_t layer = 0;
  std::size_t in = 0;
  std::size_t out = 0;
  std::size_t a = 0;    ///< offset of A in the adapter's flat vector
  std::size_t b = 0;    ///< offset of B in the adapter's flat vector
  std::size_t base = 0; ///< offset of W in the base's flat vector
};

/// Where each LoRA tensor lies in the flat vector of an adapter.
struct AdapterLayout {
  AdapterLayout(const ModelConfig& config, std::size_t rank, bool train_attn, bool train_mlp,
                bool train_unembed);

  /// The adapted matrix of this kind and layer, or nullptr if it is frozen.
  const AdaptedLinear* find(Linear linear, std::size_t layer) const noexcept;

  std::size_t rank = 0;
  float scale = 1.0F; ///< 32 / rank
  std::vector<AdaptedLinear> linears;
  std::size_t size = 0; ///< floats altogether

private:
  std::vector<int> index_;
};

} // namespace tinkaf::model
