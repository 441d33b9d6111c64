// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/ops.hpp"

namespace tinkaf::test {

/// A datum of so many tokens.
inline Datum datum_of(std::size_t tokens) {
  std::vector<Token> input;
  std::vector<std::int64_t> targets;
  for (std::size_t i = 0; i < tokens; ++i) {
    input.push_back(static_cast<Token>(40 + i % 20));
    targets.push_back(static_cast<std::int64_t>(41 + i % 20));
  }
  return {.model_input = ModelInput::from_ints(std::move(input)),
          .loss_fn_inputs = {{"target_tokens", TensorData::of(std::move(targets))},
                             {"weights", TensorData::of(std::vector<float>(tokens, 1.0F))}}};
}

/// A datum of each length.
inline Batch batch_of(const std::vector<std::size_t>& lengths) {
  std::vector<Datum> data;
  for (auto tokens : lengths)
    data.push_back(datum_of(tokens));
  return make_batch(std::move(data));
}

/// A loss that says 1 and wants every log-probability raised.
inline Custom raise_all() {
  return {[](const CustomLossInput& input) -> Result<CustomLossValue> {
    CustomLossValue value{.loss = 1.0, .gradients = {}, .metrics = {}};
    for (const auto& logprobs : input.logprobs)
      value.gradients.push_back(TensorData::of(std::vector<float>(logprobs.size(), -1.0F)));
    return value;
  }};
}

} // namespace tinkaf::test
