// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/training.hpp"

#include <filesystem>
#include <string>

namespace tinkaf::model {

/// Numerator of LoRA's scale, alpha / rank. The same for every rank, so that a good learning rate
/// carries over between ranks.
inline constexpr int lora_alpha = 32;

/// Reads rank and trained modules from an `adapter_config.json` in PEFT's format.
/// @param base_name the model that the adapter must belong to
/// @returns `Errc::io_error`, or `Errc::invalid_argument` naming file, field and what it must be
[[nodiscard]] Result<LoraConfig> read_adapter_config(const std::filesystem::path& file,
                                                     const std::string& base_name);

/// Writes an `adapter_config.json` in PEFT's format.
[[nodiscard]] Result<void> write_adapter_config(const std::filesystem::path& file,
                                                const LoraConfig& config,
                                                const std::string& base_name);

} // namespace tinkaf::model
