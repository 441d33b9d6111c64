// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "train/job_model.hpp"
#include "train/policy_batch.hpp"
#include "train/recipe.hpp"
#include "train/samplers.hpp"
#include "train/step_samples.hpp"

namespace tinkaf::train {

/// What is common to recipes that learn from answers of the model itself.
struct PolicySettings {
  DrawSettings draw;

  /// How long the weights that a step draws from are kept: longer than a run may lie still before
  /// it is taken up again without going back to a checkpoint.
  std::chrono::seconds sampler_ttl{std::chrono::hours{24}};
};

/// A policy gradient over answers of the model itself. Each step saves the weights for a sampler,
/// draws answers from them, has these judged by a subclass, and asks for importance_sampling and
/// optim_step together. Three turns a step; one where there is nothing to learn from, which leaves
/// the model as it is and is told in a notice.
///
/// Answers are noted before they are trained on, and not drawn again when the run goes on.
class PolicyRecipe : public Recipe {
public:
  [[nodiscard]] Result<std::unique_ptr<OpenStep>> submit(const StepPlan& plan,
                                                         Patience& patience) final;

  [[nodiscard]] std::size_t begin_given_up(const StepPlan& plan) final;

protected:
  /// @param prompts outlive this
  PolicyRecipe(const JobModel& model, SampleNotes notes, const std::vector<Prompt>& prompts,
               PolicySettings settings, NoticeSink notices);

  /// Asks others for log-probabilities of answers, where a recipe needs such.
  /// @returns one vector for each text that is scored
  [[nodiscard]] virtual Result<std::vector<std::vector<float>>>
  score_answers(const StepPlan& plan, const Answers& answers, Patience& patience);

  /// Rollouts to learn from, and columns to tell of all answers.
  struct Judged {
    std::vector<Rollout> rollouts;
    Columns columns;
  };

  /// A function of its arguments alone.
  /// @param samples answers to each of the plan's rows, some a row, and what `score_answers` gave
  [[nodiscard]] virtual Result<Judged> judge(const StepPlan& plan, StepSamples samples) = 0;

  [[nodiscard]] const std::vector<Prompt>& prompts() const noexcept {
    return prompts_;
  }

  [[nodiscard]] Samplers& samplers() noexcept {
    return samplers_;
  }

private:
  Pending<SaveWeightsForSamplerResponse> save_policy(const StepPlan& plan);
  Result<StepSamples> draw_samples(const StepPlan& plan,
                                   const Pending<SaveWeightsForSamplerResponse>& saved,
                                   Patience& patience);

  TrainingClient client_;
  Samplers samplers_;
  SampleFile samples_;
  const std::vector<Prompt>& prompts_;
  PolicySettings settings_;
  NoticeSink notices_;
};

} // namespace tinkaf::train
