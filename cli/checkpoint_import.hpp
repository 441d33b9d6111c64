// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/storage_group.hpp"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <string>

namespace tinkaf::cli {

/// Which adapter becomes a checkpoint, of what model, under what name.
struct ImportArguments {
  std::filesystem::path folder;
  std::string base_model;
  std::string name = "imported";
};

void add_import_options(CLI::App& command, ImportArguments& arguments);

/// Sends an adapter to a local server, which makes a run of it with checkpoints to train on and to
/// sample from, and prints their paths.
/// @returns `Errc::not_found` naming the file that the folder does not have, and where the service
///   knows no such call; else its refusal
[[nodiscard]] Result<void> import_checkpoint(const ImportArguments& arguments,
                                             const StorageCall& call);

} // namespace tinkaf::cli
