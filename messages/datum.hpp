// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/model_input.hpp"
#include "messages/tensor_data.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tinkaf {

/// One training example: what the model reads and what the loss compares it with.
struct Datum {
  ModelInput model_input;

  /// Tensors by the service's names: `target_tokens` (int64), `weights`, `advantages`, `logprobs`
  /// (float32). Shape: [tokens], position i predicts `target_tokens[i]`; cross_entropy also takes
  /// [tokens, K].
  std::map<std::string, TensorData> loss_fn_inputs;

  friend bool operator==(const Datum&, const Datum&) = default;
};

/// Training examples, shared and immutable, so that no message ever copies them.
using Batch = std::shared_ptr<const std::vector<Datum>>;

/// Moves examples into a shared batch.
[[nodiscard]] inline Batch make_batch(std::vector<Datum> data) {
  return std::make_shared<const std::vector<Datum>>(std::move(data));
}

} // namespace tinkaf
