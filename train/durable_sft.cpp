// SPDX-License-Identifier: Apache-2.0
#include "train/durable_sft.hpp"

namespace tinkaf::train {

Result<RunOutcome> run_durable_sft(const OpenService& open, const DurableSft& job,
                                   const std::vector<Example>& examples, RunFolder& folder,
                                   const OnStep& on_step, const NoticeSink& notices,
                                   const std::stop_token& stop) {
  const auto make = [&](const JobModel& /*model*/, Backend& backend,
                        const RunFolder& /*folder*/) -> Result<std::unique_ptr<Recipe>> {
    return std::make_unique<SftRecipe>(backend, examples);
  };
  return run_durable(open, {job.model, job.settings, make, examples.size()}, folder, on_step,
                     notices, stop);
}

} // namespace tinkaf::train
