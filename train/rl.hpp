// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "train/policy_recipe.hpp"
#include "train/rewards.hpp"

namespace tinkaf::train {

/// Settings of reinforcement learning.
struct RlSettings {
  /// With groups of at least two answers.
  PolicySettings policy;

  RewardFn reward = exact_reward;
};

/// @returns `Errc::invalid_argument` naming the setting that cannot be
[[nodiscard]] Result<void> validate(const RlSettings& settings);

/// Group-relative policy gradient: of several answers to a prompt, those better than their mean
/// become likelier, by as much as they are better. Groups whose answers are equally good are left
/// out.
///
/// Its headline is `reward/total`, the mean reward of all answers. `by_group/frac_mixed` is the
/// share of groups that differ, `by_group/frac_all_good` and `by_group/frac_all_bad` the shares of
/// those that do not and have at least 0.5 or less.
class RlRecipe final : public PolicyRecipe {
public:
  /// @param prompts outlive this
  RlRecipe(const JobModel& model, SampleNotes notes, const std::vector<Prompt>& prompts,
           text::Tokenizer tokenizer, RlSettings settings, NoticeSink notices);

private:
  Result<Judged> judge(const StepPlan& plan, StepSamples samples) override;

  text::Tokenizer tokenizer_;
  RewardFn reward_;
};

/// A drawn sequence as text, without the token that ended it.
[[nodiscard]] std::string text_of(const SampledSequence& sequence,
                                  const text::Tokenizer& tokenizer);

} // namespace tinkaf::train
