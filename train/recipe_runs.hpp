// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "text/tokenizer.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "train/distill.hpp"
#include "train/dpo.hpp"
#include "train/durable_run.hpp"
#include "train/render.hpp"
#include "train/rl.hpp"

// A run of each recipe, for `recipe_job` or `run_durable`. Data are at least one row, and shared.

namespace tinkaf::train {

/// Rows as runs share them.
template <class Row>
[[nodiscard]] std::shared_ptr<const std::vector<Row>> share(std::vector<Row> rows) {
  return std::make_shared<const std::vector<Row>>(std::move(rows));
}

/// Supervised fine-tuning, see `SftRecipe`.
[[nodiscard]] DurableRun sft_run(JobModelSettings model, RunSettings settings,
                                 std::shared_ptr<const std::vector<Example>> examples);

/// Direct preference optimization, see `DpoRecipe`.
[[nodiscard]] DurableRun dpo_run(JobModelSettings model, RunSettings settings,
                                 std::shared_ptr<const std::vector<Preference>> preferences,
                                 DpoSettings dpo);

/// Reinforcement learning, see `RlRecipe`.
[[nodiscard]] DurableRun rl_run(JobModelSettings model, RunSettings settings,
                                std::shared_ptr<const std::vector<Prompt>> prompts,
                                text::Tokenizer tokenizer, RlSettings rl, NoticeSink notices = {});

/// On-policy distillation, see `DistillRecipe`.
[[nodiscard]] DurableRun distill_run(JobModelSettings model, RunSettings settings,
                                     std::shared_ptr<const std::vector<Prompt>> prompts,
                                     DistillSettings distill, NoticeSink notices = {});

} // namespace tinkaf::train
