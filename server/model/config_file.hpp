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

/// Reads the `config.json` of a dense model of the Llama or Qwen3 kind, and the end tokens of a
/// `generation_config.json` beside it.
/// @returns `Errc::io_error`, or `Errc::invalid_argument` naming file, field and what it must be;
///          among others for features that the trainer lacks, such as biases, sliding windows,
///          mixtures of experts, quantized weights, or a scaling of RoPE other than "llama3"
[[nodiscard]] Result<ConfigFile> read_config(const std::filesystem::path& file);

/// Writes a `config.json` that other programs read, too.
[[nodiscard]] Result<void> write_config(const std::filesystem::path& file, const ConfigFile& x);

} // namespace tinkaf::model
