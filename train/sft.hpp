// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stop_token>
#include <vector>

#include "train/render.hpp"
#include "train/run_steps.hpp"

namespace tinkaf::train {

/// Supervised fine-tuning: forward_backward under cross_entropy and optim_step, submitted together.
/// Two turns a step; its headline is `train_mean_nll`, in nats.
class SftRecipe final : public Recipe {
public:
  /// @param backend outlives this, like the examples
  SftRecipe(Backend& backend, const std::vector<Example>& examples);

  [[nodiscard]] Result<std::unique_ptr<OpenStep>> submit(const StepPlan& plan,
                                                         Patience& patience) override;

private:
  Backend& backend_;
  const std::vector<Example>& examples_;
};

/// Fine-tunes on examples, see `run_steps`.
/// @param examples at least one
[[nodiscard]] Result<RunOutcome> run_sft(Backend& backend, const std::vector<Example>& examples,
                                         const RunSettings& settings, RunFolder& folder,
                                         const OnStep& on_step, std::stop_token stop);

} // namespace tinkaf::train
