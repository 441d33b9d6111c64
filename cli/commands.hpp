// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/signals.hpp"
#include "cli/tables.hpp"

#include <CLI/CLI.hpp>

#include <functional>

// One subcommand a file. Each adds itself with its options to `parent` and sets `run` to what it
// does, should it be the one that was asked for.

namespace tinkaf::cli {

/// What a subcommand does; returns the exit code.
using Command = std::function<int(const StopSignals&)>;

void add_serve(CLI::App& parent, Command& run);
void add_train(CLI::App& parent, Command& run);
void add_sample(CLI::App& parent, Command& run);
void add_demo(CLI::App& parent, Command& run);
void add_pretrain(CLI::App& parent, Command& run);
void add_version(CLI::App& parent, Command& run);

// These print in the format that the program's own option names.
void add_checkpoints(CLI::App& parent, Command& run, const OutputFormat& format);
void add_runs(CLI::App& parent, Command& run, const OutputFormat& format);

} // namespace tinkaf::cli
