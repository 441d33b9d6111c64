// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/training.hpp"

#include <cstdint>
#include <vector>

namespace tinkaf::examples {

/// One row of five tokens to be learned by heart; `first_script.cpp` has it step by step.
[[nodiscard]] inline Batch example_batch() {
  return make_batch(
      {Datum{.model_input = ModelInput::from_ints({1, 40, 41, 42, 43}),
             .loss_fn_inputs
             = {{"target_tokens", TensorData::of(std::vector<std::int64_t>{40, 41, 42, 43, 44})},
                {"weights", TensorData::of(std::vector<float>{1, 1, 1, 1, 1})}}}});
}

} // namespace tinkaf::examples
