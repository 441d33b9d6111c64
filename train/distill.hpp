// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/policy_recipe.hpp"

namespace tinkaf::train {

/// Settings of on-policy distillation.
struct DistillSettings {
  PolicySettings policy;

  /// Whom the model is to become like: a base model by name, or a `tinker://…/sampler_weights/…`
  /// path; with the same tokens as the model.
  std::string teacher;
};

/// @returns `Errc::invalid_argument` naming the setting that cannot be
[[nodiscard]] Result<void> validate(const DistillSettings& settings);

/// On-policy distillation: the teacher gives its log-probability of each token that the model has
/// drawn, and the token becomes likelier by as much as the teacher's is greater. This descends the
/// reverse Kullback-Leibler divergence, from the model to the teacher.
///
/// Its headline is `reverse_kl`, the mean over tokens of the model's log-probability less the
/// teacher's, in nats.
class DistillRecipe final : public PolicyRecipe {
public:
  /// @param prompts outlive this
  DistillRecipe(const JobModel& model, SampleNotes notes, const std::vector<Prompt>& prompts,
                DistillSettings settings, NoticeSink notices);

private:
  Result<std::vector<std::vector<float>>>
  score_answers(const StepPlan& plan, const Answers& answers, Patience& patience) override;
  Result<Judged> judge(const StepPlan& plan, StepSamples samples) override;

  std::string teacher_path_;
  std::optional<SamplingClient> teacher_;
};

} // namespace tinkaf::train
