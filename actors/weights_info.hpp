// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/training.hpp"

#include <string>
#include <string_view>

namespace tinkaf {

/// What a checkpoint says of the model that it was made of.
struct WeightsInfo {
  std::string base_model;
  LoraConfig lora_config;
};

/// Body of a call of `weights_info`.
[[nodiscard]] std::string weights_info_json(std::string_view tinker_path);

/// Reads its answer; flags that are not told are on.
/// @returns `Errc::protocol_error` naming the field
[[nodiscard]] Result<WeightsInfo> read_weights_info(std::string_view json);

} // namespace tinkaf
