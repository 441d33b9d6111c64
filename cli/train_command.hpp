// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/commands.hpp"
#include "cli/train_options.hpp"
#include "cli/train_task.hpp"

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>

namespace tinkaf::cli {

/// Makes a task of the options that were given.
using MakeTask = std::function<Result<std::unique_ptr<TrainTask>>()>;

/// Lets a command train: reads the data, trains or goes on, and prints what has improved.
/// @param arguments of `add_train_options`
void set_training(CLI::App& command, Command& run, std::shared_ptr<TrainArguments> arguments,
                  MakeTask make);

// One recipe a file, below `tinkaf train`.
void add_train_sft(CLI::App& train, Command& run);
void add_train_dpo(CLI::App& train, Command& run);
void add_train_rl(CLI::App& train, Command& run);
void add_train_distill(CLI::App& train, Command& run);

} // namespace tinkaf::cli
