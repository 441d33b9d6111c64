// SPDX-License-Identifier: Apache-2.0
#include "train/sft_job.hpp"

#include <utility>

#include "train/recipe_job.hpp"

namespace tinkaf::train {

JobFn sft_job(SftJobSettings settings) {
  const auto make = [job = std::move(settings.job), examples = std::move(settings.examples)](
                        const std::shared_ptr<JobJournal>& /*journal*/) {
    return DurableRun{.model = job.model,
                      .settings = job.settings,
                      .recipe = [examples](const JobModel& /*model*/,
                                           Backend& backend) -> Result<std::unique_ptr<Recipe>> {
                        return std::make_unique<SftRecipe>(backend, *examples);
                      },
                      .rows = examples->size()};
  };
  return recipe_job({.options = std::move(settings.options),
                     .folder = std::move(settings.folder),
                     .identity = std::move(settings.identity),
                     .headline = "train_mean_nll",
                     .job = make,
                     .notices = std::move(settings.notices)});
}

} // namespace tinkaf::train
