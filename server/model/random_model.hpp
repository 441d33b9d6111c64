// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/model/base_model.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>

// Small models with random weights: for tests and measurements that need a model but no language.

namespace tinkaf::model {

/// Two layers of width 32, the 256 bytes and three special tokens as vocabulary, a context of
/// 128 tokens: a forward pass takes well below a millisecond.
[[nodiscard]] ModelConfig small_shape();

/// A model of the given shape with fresh weights. Its tokenizer knows bytes, `<|endoftext|>` (0),
/// `<|im_start|>` (1) and `<|im_end|>` (2), so `vocab_size` must be at least 259.
/// The weights are larger than those of a model before pretraining, so that its choices are clear.
[[nodiscard]] std::shared_ptr<const BaseModel>
random_model(const ModelConfig& config = small_shape(), std::uint64_t seed = 1);

/// Writes such a model as a folder that `BaseModel::load` reads; weights are rounded to bfloat16.
[[nodiscard]] Result<void> write_random_model(const std::filesystem::path& folder,
                                              const ModelConfig& config = small_shape(),
                                              std::uint64_t seed = 1);

} // namespace tinkaf::model
