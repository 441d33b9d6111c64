// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "server/model/transformer.hpp"
#include "text/tokenizer.hpp"

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tinkaf::model {

/// A pretrained model: weights, tokenizer and shape. Immutable, so any number of threads may
/// share one.
class BaseModel {
public:
  /// Reads a folder in the Hugging Face layout: `config.json`, `model.safetensors`,
  /// `tokenizer.json`. Also checks the arithmetic of this machine (`kernels::self_test`).
  /// @param name what clients call the model; if empty, "_name_or_path" of the config
  /// @returns `Errc::io_error` or `Errc::invalid_argument`, naming file and field
  [[nodiscard]] static Result<std::shared_ptr<const BaseModel>>
  load(const std::filesystem::path& folder, std::string name = {});

  /// A model from parts, for tests and for pretraining.
  BaseModel(std::string name, ModelConfig config, std::vector<float> weights,
            text::Tokenizer tokenizer);

  const std::string& name() const noexcept {
    return name_;
  }
  const ModelConfig& config() const noexcept {
    return config_;
  }
  const BaseLayout& layout() const noexcept {
    return layout_;
  }
  const text::Tokenizer& tokenizer() const noexcept {
    return tokenizer_;
  }
  std::size_t vocab_size() const noexcept {
    return config_.vocab_size;
  }
  std::size_t max_context_length() const noexcept {
    return config_.max_position_embeddings;
  }

  /// All weights, in the order of `layout()`.
  const std::vector<float>& weights() const noexcept {
    return weights_;
  }
  const RopeTable& rope() const noexcept {
    return rope_;
  }
  WeightsView view() const noexcept;

private:
  std::string name_;
  ModelConfig config_;
  BaseLayout layout_;
  std::vector<float> weights_;
  RopeTable rope_;
  text::Tokenizer tokenizer_;
};

/// Writes all weights as bfloat16 `model.safetensors`, by their Hugging Face names.
[[nodiscard]] Result<void> save_weights(const std::filesystem::path& file, const BaseLayout& layout,
                                        std::span<const float> weights);

} // namespace tinkaf::model
