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

/// On-policy distillation: the teacher gives its log-probability of each token that the model has
/// drawn, and the token becomes likelier by as much as the teacher's is greater. This descends the
/// reverse Kullback-Leibler divergence, from the model to the teacher.
///
/// Its headline is `reverse_kl`, the mean over tokens of the model's log-probability less the
/// teacher's, in nats.
class DistillRecipe final : public PolicyRecipe {
public:
  /// @param journal of the job
  /// @param prompts outlive this
  DistillRecipe(const JobModel& model, std::shared_ptr<JobJournal> journal,
                const std::vector<Prompt>& prompts, DistillSettings settings, NoticeSink notices);

private:
  Result<Judged> judge(const StepPlan& plan, Answers answers, Patience& patience) override;

  std::string teacher_path_;
  std::optional<SamplingClient> teacher_;
};

} // namespace tinkaf::train
