// SPDX-License-Identifier: Apache-2.0
#include "train/sft_job.hpp"

#include <utility>

#include "train/recipe_job.hpp"
#include "train/recipe_runs.hpp"

namespace tinkaf::train {

JobFn sft_job(SftJobSettings settings) {
  return recipe_job({.options = std::move(settings.options),
                     .folder = std::move(settings.folder),
                     .identity = std::move(settings.identity),
                     .job = sft_run(std::move(settings.job.model), settings.job.settings,
                                    std::move(settings.examples)),
                     .notices = std::move(settings.notices)});
}

} // namespace tinkaf::train
