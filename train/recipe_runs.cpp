// SPDX-License-Identifier: Apache-2.0
#include "train/recipe_runs.hpp"

#include <utility>

#include "train/sft.hpp"

namespace tinkaf::train {

namespace {

/// A recipe that notes what it samples.
/// @param make makes it of a model and its notes
template <class Make>
MakeRecipe with_notes(Make make) {
  return [make = std::move(make)](const JobModel& model, Backend& /*backend*/,
                                  const RunFolder& folder) -> Result<std::unique_ptr<Recipe>> {
    auto notes = SampleNotes::open(folder);
    if (!notes)
      return fail(std::move(notes.error()));
    return make(model, std::move(*notes));
  };
}

} // namespace

DurableRun sft_run(JobModelSettings model, RunSettings settings,
                   std::shared_ptr<const std::vector<Example>> examples) {
  const auto rows = examples->size();
  return {.model = std::move(model),
          .settings = settings,
          .recipe = [examples = std::move(examples)](
                        const JobModel& /*model*/, Backend& backend,
                        const RunFolder& /*folder*/) -> Result<std::unique_ptr<Recipe>> {
            return std::make_unique<SftRecipe>(backend, *examples);
          },
          .rows = rows,
          .headline = "train_mean_nll"};
}

DurableRun dpo_run(JobModelSettings model, RunSettings settings,
                   std::shared_ptr<const std::vector<Preference>> preferences, DpoSettings dpo) {
  auto checked = validate(dpo);
  const auto rows = preferences->size();
  return {.model = std::move(model),
          .settings = settings,
          .recipe = with_notes([preferences = std::move(preferences),
                                dpo = std::move(dpo)](const JobModel& given, SampleNotes notes) {
            return std::make_unique<DpoRecipe>(given, std::move(notes), *preferences, dpo);
          }),
          .rows = rows,
          .headline = "dpo_loss",
          .checked = std::move(checked)};
}

DurableRun rl_run(JobModelSettings model, RunSettings settings,
                  std::shared_ptr<const std::vector<Prompt>> prompts, text::Tokenizer tokenizer,
                  RlSettings rl, NoticeSink notices) {
  auto checked = validate(rl);
  const auto rows = prompts->size();
  return {.model = std::move(model),
          .settings = settings,
          .recipe = with_notes(
              [prompts = std::move(prompts), tokenizer = std::move(tokenizer), rl = std::move(rl),
               tell = std::move(notices)](const JobModel& given, SampleNotes notes) {
                return std::make_unique<RlRecipe>(given, std::move(notes), *prompts, tokenizer, rl,
                                                  tell);
              }),
          .rows = rows,
          .headline = "reward/total",
          .checked = std::move(checked)};
}

DurableRun distill_run(JobModelSettings model, RunSettings settings,
                       std::shared_ptr<const std::vector<Prompt>> prompts, DistillSettings distill,
                       NoticeSink notices) {
  auto checked = validate(distill);
  const auto rows = prompts->size();
  return {
      .model = std::move(model),
      .settings = settings,
      .recipe = with_notes([prompts = std::move(prompts), distill = std::move(distill),
                            tell = std::move(notices)](const JobModel& given, SampleNotes notes) {
        return std::make_unique<DistillRecipe>(given, std::move(notes), *prompts, distill, tell);
      }),
      .rows = rows,
      .headline = "reverse_kl",
      .checked = std::move(checked)};
}

} // namespace tinkaf::train
