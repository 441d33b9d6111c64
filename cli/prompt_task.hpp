// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/train_command.hpp"
#include "cli/train_task.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "train/recipe_runs.hpp"

namespace tinkaf::cli {

/// How a recipe that learns from answers of the model itself draws them.
struct DrawOptions {
  std::int32_t group = 8;
  std::int32_t max_tokens = 32;
};

/// Adds `--group` and `--max-tokens`.
/// @param least answers to a prompt
void add_draw_options(CLI::App& command, DrawOptions& options, std::int32_t least);

/// What tasks with prompts have in common.
class PromptTask : public TrainTask {
public:
  [[nodiscard]] Result<void> read(const std::filesystem::path& data) final;
  [[nodiscard]] Result<JobIdentity> options(const std::string& base_model) const final;
  [[nodiscard]] Result<train::DurableRun> prepare(const TrainTarget& target) final;

protected:
  explicit PromptTask(DrawOptions draw) : draw_(draw) {}

  /// Options of the recipe's own.
  [[nodiscard]] virtual JobIdentity own_options() const = 0;

  /// Checks what only the service can tell.
  [[nodiscard]] virtual Result<void> check(const TrainTarget& target,
                                           const text::Tokenizer& tokenizer) const;

  [[nodiscard]] virtual train::DurableRun
  make(const TrainTarget& target, std::shared_ptr<const std::vector<train::Prompt>> prompts,
       text::Tokenizer tokenizer, train::PolicySettings settings) const = 0;

private:
  DrawOptions draw_;
  std::string data_;
  std::vector<train::DataRow> rows_;
};

} // namespace tinkaf::cli
