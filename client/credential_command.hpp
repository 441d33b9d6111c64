// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/secret.hpp"
#include "messages/error.hpp"

#include <string>

namespace tinkaf {

/// Runs a shell command and takes what it prints, without white space around it, for a credential.
/// @returns `Errc::unauthenticated` if the command cannot be run or prints nothing
[[nodiscard]] Result<Secret> run_credential_command(const std::string& command);

} // namespace tinkaf
