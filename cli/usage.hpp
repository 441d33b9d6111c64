// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace tinkaf::cli {

/// What is wrong with a command line, as one line that names command, option and value and says
/// what is allowed.
/// @param app the program, after its failed `parse`
[[nodiscard]] std::string usage_text(const CLI::App& app, const CLI::ParseError& wrong);

} // namespace tinkaf::cli
