// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/model_input.hpp"
#include "server/model/config_file.hpp"
#include "server/model/random_model.hpp"
#include "server/model/safetensors.hpp"
#include "test/catch.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <span>
#include <vector>

namespace tinkaf::test {

/// By token; all others have no share.
using Logits = std::map<std::size_t, double>;

inline double logprob_in(const Logits& logits, std::size_t token) {
  double total = 0.0;
  for (const auto& [_, x] : logits)
    total += std::exp(x);
  return logits.at(token) - std::log(total);
}

/// A model whose logits behind each token are as given, whatever comes before: its one layer adds
/// nothing, each token is a direction of its own, and the head holds the logits.
class WrittenModel {
public:
  static constexpr std::size_t width = 128;
  static constexpr std::size_t vocab = 259;

  /// The token behind which the logits are these.
  Token add(const Logits& logits) {
    REQUIRE(rows_.size() < width);
    rows_.push_back(logits);
    return static_cast<Token>(rows_.size() - 1);
  }

  [[nodiscard]] const Logits& behind(Token token) const {
    return rows_.at(static_cast<std::size_t>(token));
  }

  void write(const std::filesystem::path& folder) const {
    auto config = model::small_shape();
    config.hidden_size = width;
    config.num_hidden_layers = 1;
    config.rms_norm_eps = 1e-12F;
    config.eos_token_ids = {};
    REQUIRE(model::write_random_model(folder, config).has_value());
    const model::BaseLayout layout{config};
    std::vector<float> weights(layout.size);
    // A direction of length 1 has the root mean square 1 / sqrt(width), which this takes back.
    std::fill_n(weights.begin() + static_cast<std::ptrdiff_t>(layout.final_norm), width,
                1.0F / std::sqrt(static_cast<float>(width)));
    for (std::size_t token = 0; token < width; ++token)
      weights[layout.embedding + token * width + token] = 1.0F;
    for (std::size_t token = 0; token < vocab; ++token)
      for (std::size_t row = 0; row < rows_.size(); ++row) {
        const auto found = rows_[row].find(token);
        weights[layout.head + token * width + row]
            = found != rows_[row].end() ? static_cast<float>(found->second) : -1e4F;
      }
    std::vector<model::TensorSource> tensors;
    for (const auto& tensor : layout.tensors)
      tensors.push_back({tensor.name,
                         tensor.columns == 1 ? std::vector{tensor.rows}
                                             : std::vector{tensor.rows, tensor.columns},
                         std::span{weights}.subspan(tensor.offset, tensor.size())});
    REQUIRE(
        model::write_safetensors(folder / "model.safetensors", tensors, model::StoredType::f32, {})
            .has_value());
  }

private:
  std::vector<Logits> rows_;
};

} // namespace tinkaf::test
