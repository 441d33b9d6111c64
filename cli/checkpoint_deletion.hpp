// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/storage_group.hpp"

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

namespace tinkaf::cli {

/// What to remove: checkpoints by their paths, or those of a run that pass all filters.
struct DeletionArguments {
  std::vector<std::string> paths;
  std::string training_run_id;
  std::string type;

  /// Times of RFC 3339 or dates, UTC where they name no zone.
  std::string before;
  std::string after;

  bool yes = false;
};

void add_deletion_options(CLI::App& command, DeletionArguments& arguments);

/// The filters of a deletion, read.
struct DeletionFilter {
  std::optional<CheckpointKind> kind;

  /// Exclusive.
  std::optional<Timestamp> before;
  std::optional<Timestamp> after;

  [[nodiscard]] bool passes(const Checkpoint& checkpoint) const noexcept {
    return (!kind || checkpoint.checkpoint_type == *kind) && (!before || checkpoint.time < *before)
           && (!after || checkpoint.time > *after);
  }
};

/// Reads and checks the arguments, paths included.
/// @returns `Errc::invalid_argument` naming the option
[[nodiscard]] Result<DeletionFilter> check(const DeletionArguments& arguments);

/// Lists what is to go and asks once, unless told to go on; then removes it, 32 at a time, goes on
/// after single failures and sums up.
/// @returns an error if any of them failed
[[nodiscard]] Result<void> delete_checkpoints(const DeletionArguments& arguments,
                                              const StorageCall& call);

} // namespace tinkaf::cli
