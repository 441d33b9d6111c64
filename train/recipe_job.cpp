// SPDX-License-Identifier: Apache-2.0
#include "train/recipe_job.hpp"

#include <utility>

namespace tinkaf::train {

namespace {

Result<JobEnd> run(const RecipeJobSettings& settings, const JobRun& run) {
  auto folder = RunFolder::open(settings.folder, settings.identity, settings.job.headline);
  if (!folder)
    return fail(std::move(folder.error()));
  const auto open = [&](const std::optional<SessionRecord>& record) {
    return record ? Service::resume(*record, settings.options, settings.notices)
                  : Service::connect(settings.options, settings.notices);
  };
  const auto& job = settings.job;
  const auto steps = job.settings.steps;
  const auto on_step = [&](const StepRow& row) {
    run.report({row.step + 1, steps, row.value(job.headline)});
  };
  run.report({folder->headlines().size(), steps, {}});
  auto outcome = run_durable(open, job, *folder, on_step, settings.notices, run.stop);
  if (!outcome)
    return fail(std::move(outcome.error()));
  return outcome->stopped ? JobEnd::stopped : JobEnd::finished;
}

} // namespace

JobFn recipe_job(RecipeJobSettings settings) {
  return [settings = std::make_shared<const RecipeJobSettings>(std::move(settings))](
             const JobRun& given) { return run(*settings, given); };
}

} // namespace tinkaf::train
