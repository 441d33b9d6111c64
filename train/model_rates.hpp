// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

// What is known of the hosted models that decides how they are best trained. Models are given by
// their name, with or without an owner and whatever follows: "Qwen/Qwen3-8B-Base".

namespace tinkaf::train {

/// Width of a model's residual stream.
/// @returns `Errc::not_found` for a model that is not known here; read `hidden_size` in its
///   configuration then
[[nodiscard]] Result<std::int64_t> hidden_size(std::string_view model);

/// `hidden_size` of a model's `config.json`, or that of its `text_config`.
/// @param config_json the text of the file
/// @returns `Errc::invalid_argument` if there is none
[[nodiscard]] Result<std::int64_t> hidden_size_in(std::string_view config_json);

/// A learning rate to begin with: 5e-5 · (2000/H)^p, ten times that for LoRA, where H is the hidden
/// size and p is 0.781 for Llama and 0.0775 for Qwen models.
///
/// Source: the rule of the public Tinker cookbook.
/// @param hidden_size of a model that is not known here
/// @returns `Errc::invalid_argument` for a family for which the rule has not been calibrated,
///   `Errc::not_found` for a model whose hidden size is not known
[[nodiscard]] Result<double> recommended_learning_rate(std::string_view model, bool lora = true,
                                                       std::optional<std::int64_t> hidden_size
                                                       = {});

/// Which parts of a model get an adapter.
struct LoraParts {
  bool mlp = true;
  bool attention = true;
  bool unembedding = true;
};

/// Parameters that an adapter trains. Layers with experts share, across these, the factor on the
/// side of the model's width.
/// @param rank at least 1
/// @returns `Errc::invalid_argument` for a rank that cannot be or without any part,
///   `Errc::not_found` for a model that is not known here
[[nodiscard]] Result<std::int64_t> lora_parameters(std::string_view model, std::int64_t rank,
                                                   const LoraParts& parts = {});

} // namespace tinkaf::train
