// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/training.hpp"

#include <optional>
#include <string>
#include <string_view>

// What is wrong with a name, an option or a path of a checkpoint, told before anything is sent.
// Errors are `Errc::invalid_argument` and name the field and its value.

namespace tinkaf {

/// Checks the name under which a checkpoint is to be saved: not empty, no slash.
[[nodiscard]] Result<void> check_checkpoint_name(std::string_view name);

/// Checks the options of a training save: a `ttl` of at least one second.
[[nodiscard]] Result<void> check_save_options(const SaveWeightsOptions& options);

/// The same for a save to sample from, which knows no `overwrite`.
[[nodiscard]] Result<void> check_sampler_save_options(const SaveWeightsOptions& options);

/// Checks that a path is that of a checkpoint to train on. The error tells a malformed path from
/// one of the other kind, and says where a training checkpoint of the same name would be.
/// @param what the call, for example "load_state"
[[nodiscard]] Result<void> check_training_path(std::string_view path, std::string_view what);

} // namespace tinkaf
