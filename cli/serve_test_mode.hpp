// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/server_options.hpp"

#include <CLI/CLI.hpp>

#include <string>

namespace tinkaf::cli {

/// Adds `--test-mode`, and the shorter limits and faults that go with it and without it are
/// refused.
/// @param options are set as the command line is read; must outlive the command
void add_test_mode(CLI::App& command, ServerOptions& options);

/// What the server says first in test mode: that it is, and what is played. One line.
[[nodiscard]] std::string test_mode_notice(const ServerOptions& options);

} // namespace tinkaf::cli
