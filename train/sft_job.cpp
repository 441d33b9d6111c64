// SPDX-License-Identifier: Apache-2.0
#include "train/sft_job.hpp"

#include <utility>

#include "train/recipe_job.hpp"

namespace tinkaf::train {

JobFn sft_job(SftJobSettings settings) {
  auto job
      = DurableRun{.model = std::move(settings.job.model),
                   .settings = settings.job.settings,
                   .recipe = [examples = settings.examples](
                                 const JobModel& /*model*/, Backend& backend,
                                 const RunFolder& /*folder*/) -> Result<std::unique_ptr<Recipe>> {
                     return std::make_unique<SftRecipe>(backend, *examples);
                   },
                   .rows = settings.examples->size()};
  return recipe_job({.options = std::move(settings.options),
                     .folder = std::move(settings.folder),
                     .identity = std::move(settings.identity),
                     .headline = "train_mean_nll",
                     .job = std::move(job),
                     .notices = std::move(settings.notices)});
}

} // namespace tinkaf::train
