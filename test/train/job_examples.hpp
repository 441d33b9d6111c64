// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "train/render.hpp"

namespace tinkaf::test {

/// Six rows that differ, short enough to be trained on in no time.
inline std::vector<train::Example> make_examples() {
  auto result = std::vector<train::Example>{};
  for (Token first = 1; first <= 6; ++first) {
    auto& example = result.emplace_back();
    example.datum.model_input = ModelInput::from_ints({first, 7, 8});
    example.datum.loss_fn_inputs.emplace("target_tokens",
                                         TensorData::of(std::vector<std::int64_t>{7, 8, first}));
    example.datum.loss_fn_inputs.emplace("weights", TensorData::of(std::vector<float>{0, 1, 1}));
    example.target_bytes = {1, 1, 1};
  }
  return result;
}

} // namespace tinkaf::test
