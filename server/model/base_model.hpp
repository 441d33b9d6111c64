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

/// How a model is read.
struct LoadOptions {
  /// Most tokens of a sequence; 0 takes as many as `usual_context` allows.
  std::size_t context = 0;

  /// Matrices with more numbers than this stay packed if the files have them as bfloat16: half the
  /// memory, the same bits, some more work for each product.
  std::size_t pack_above = std::size_t{64} << 20;
};

/// Tokens that the model allows, but no more than a training pass of one sequence can take within
/// 4 GiB of memory, and at least 512.
[[nodiscard]] std::size_t usual_context(const ModelConfig& config) noexcept;

/// A pretrained model: weights, tokenizer and shape. Immutable, so any number of threads may
/// share one.
class BaseModel {
public:
  /// Reads a folder in the Hugging Face layout: `config.json`, `model.safetensors` (or its parts,
  /// with `model.safetensors.index.json`), `tokenizer.json`. Also checks the arithmetic of this
  /// machine (`kernels::self_test`).
  /// @param name what clients call the model; if empty, "_name_or_path" of the config
  /// @returns `Errc::io_error` or `Errc::invalid_argument`, naming file and field
  [[nodiscard]] static Result<std::shared_ptr<const BaseModel>>
  load(const std::filesystem::path& folder, std::string name = {}, const LoadOptions& options = {});

  /// A model from parts, for tests and for pretraining.
  /// @param weights all of them, in the order of the layout
  BaseModel(std::string name, ModelConfig config, std::vector<float> weights,
            text::Tokenizer tokenizer);

  /// The same with packed matrices.
  /// @param vectors those that come before the matrices in the layout
  BaseModel(std::string name, ModelConfig config, std::size_t context, std::vector<float> vectors,
            std::vector<std::uint16_t> matrices, text::Tokenizer tokenizer);

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
    return context_;
  }

  /// What the weights take in memory.
  std::size_t weight_bytes() const noexcept {
    return floats_.size() * sizeof(float) + packed_.size() * sizeof(std::uint16_t);
  }
  const RopeTable& rope() const noexcept {
    return rope_;
  }
  WeightsView view() const noexcept;

private:
  std::string name_;
  ModelConfig config_;
  BaseLayout layout_;
  std::size_t context_;
  std::vector<float> floats_;         // all, or the vectors only
  std::vector<std::uint16_t> packed_; // the matrices, or nothing
  RopeTable rope_;
  text::Tokenizer tokenizer_;
};

/// Writes all weights as bfloat16 `model.safetensors`, by their Hugging Face names.
[[nodiscard]] Result<void> save_weights(const std::filesystem::path& file, const BaseLayout& layout,
                                        std::span<const float> weights);

} // namespace tinkaf::model
