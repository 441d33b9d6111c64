// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/model/model_config.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace tinkaf::model {

/// Keys and values of a run of tokens of one sequence, rotated. Full ones are shared by the
/// sequences that begin alike, and never change.
class KeyValueBlock {
public:
  /// Tokens of a full block.
  static constexpr std::size_t tokens = 64;

  explicit KeyValueBlock(const ModelConfig& config)
      : width_(2 * config.kv_width()), numbers_(config.num_hidden_layers * tokens * width_) {}

  /// Keys, then values, of the block's first token in a layer; the next token's are
  /// `2 * kv_width` further on.
  float* layer(std::size_t n) noexcept {
    return numbers_.data() + n * tokens * width_;
  }
  const float* layer(std::size_t n) const noexcept {
    return numbers_.data() + n * tokens * width_;
  }

  std::size_t bytes() const noexcept {
    return numbers_.size() * sizeof(float);
  }

private:
  std::size_t width_;
  std::vector<float> numbers_;
};

/// What a model remembers of a sequence that it has read.
struct KeyValues {
  std::vector<std::shared_ptr<KeyValueBlock>> blocks;
  std::size_t length = 0; ///< tokens

  /// Another one that goes on in its own way: full blocks are shared, the last is copied.
  [[nodiscard]] KeyValues fork() const {
    auto out = *this;
    if (length % KeyValueBlock::tokens != 0)
      out.blocks.back() = std::make_shared<KeyValueBlock>(*out.blocks.back());
    return out;
  }
};

} // namespace tinkaf::model
