// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/training_client.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/job_model.hpp"
#include "train/preferences.hpp"
#include "train/recipe.hpp"
#include "train/samplers.hpp"

namespace tinkaf::train {

/// Settings of direct preference optimization.
struct DpoSettings {
  /// The weights that the policy is held to, for the whole run: a base model by name, or a
  /// `tinker://…/sampler_weights/…` path.
  std::string reference;

  /// How much it is held to them; above 0.
  double beta = 0.1;
};

/// @returns `Errc::invalid_argument` naming the setting that cannot be
[[nodiscard]] Result<void> validate(const DpoSettings& settings);

/// Direct preference optimization, see `losses::dpo`: a custom loss with optim_step right behind
/// it. Log-probabilities of the reference are asked for while the step before is trained, and
/// noted. Three turns a step; its headline is `dpo_loss`.
class DpoRecipe final : public Recipe {
public:
  /// @param preferences outlive this
  DpoRecipe(const JobModel& model, SampleNotes notes, const std::vector<Preference>& preferences,
            DpoSettings settings);

  [[nodiscard]] Result<std::unique_ptr<OpenStep>> submit(const StepPlan& plan,
                                                         Patience& patience) override;

private:
  using Texts = std::vector<std::vector<Token>>;

  Result<StepSamples> ask_reference(const StepPlan& plan, const Texts& texts, Patience& patience);

  TrainingClient client_;
  Samplers samplers_;
  SampleFile samples_;
  std::optional<SamplingClient> reference_;
  const std::vector<Preference>& preferences_;
  DpoSettings settings_;
};

} // namespace tinkaf::train
