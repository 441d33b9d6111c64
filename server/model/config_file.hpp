// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "server/model/model_config.hpp"

#include <filesystem>
#include <string>

namespace tinkaf::model {

/// What a `config.json` says of a model.
struct ConfigFile {
  /// "_name_or_path"; empty if it is not there.
  std::string name;

  ModelConfig config;
};

/// Reads the `config.json` of a model of the Llama kind.
/// @returns `Errc::io_error`, or `Errc::invalid_argument` naming file, field and what it must be;
///          among others for features that the trainer lacks, such as biases or scaled RoPE
[[nodiscard]] Result<ConfigFile> read_config(const std::filesystem::path& file);

/// Writes a `config.json` that other programs for Llama models read, too.
[[nodiscard]] Result<void> write_config(const std::filesystem::path& file, const ConfigFile& x);

} // namespace tinkaf::model
