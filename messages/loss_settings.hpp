// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/training.hpp"

#include <string_view>
#include <vector>

namespace tinkaf {

/// The keys that `loss_fn_config` of a loss may have. Source: the API's public documentation.
[[nodiscard]] inline std::vector<std::string_view> settings_of(LossFn loss_fn) {
  switch (loss_fn) {
  case LossFn::ppo:
  case LossFn::cispo:
    return {"clip_low_threshold", "clip_high_threshold"};
  case LossFn::dro:
    return {"beta"};
  case LossFn::cross_entropy:
  case LossFn::importance_sampling:
    break;
  }
  return {};
}

} // namespace tinkaf
