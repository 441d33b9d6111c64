// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/service.hpp"

#include <filesystem>

/// Uses something of each target that is for users, and prints what it says.
/// @param model its folder, as it was installed
/// @param folder for what is written
[[nodiscard]] tinkaf::Result<void> use_every_target(const tinkaf::ClientOptions& options,
                                                    const std::filesystem::path& model,
                                                    const std::filesystem::path& folder);
