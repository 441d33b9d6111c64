// SPDX-License-Identifier: Apache-2.0
#include "train/sft_job.hpp"

#include <utility>

namespace tinkaf::train {

namespace {

Result<JobEnd> run(const SftJobSettings& settings, const JobRun& run) {
  auto folder = RunFolder::open(settings.folder, settings.identity);
  if (!folder)
    return fail(std::move(folder.error()));
  const auto open = [&](const std::optional<SessionRecord>& record) {
    return record ? Service::resume(*record, settings.options, settings.notices)
                  : Service::connect(settings.options, settings.notices);
  };
  const auto steps = settings.job.settings.steps;
  const auto on_step = [&](const StepRow& row) {
    run.report({row.step + 1, steps, row.value("train_mean_nll")});
  };
  run.report({folder->headlines().size(), steps, {}});
  auto outcome = run_durable_sft(open, settings.job, *settings.examples, *folder, on_step,
                                 settings.notices, run.stop);
  if (!outcome)
    return fail(std::move(outcome.error()));
  return outcome->stopped ? JobEnd::stopped : JobEnd::finished;
}

} // namespace

JobFn sft_job(SftJobSettings settings) {
  return [settings = std::make_shared<const SftJobSettings>(std::move(settings))](
             const JobRun& given) { return run(*settings, given); };
}

} // namespace tinkaf::train
