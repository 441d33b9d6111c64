// SPDX-License-Identifier: Apache-2.0
#include "train/durable_run.hpp"

#include <utility>

#include "train/client_backend.hpp"

namespace tinkaf::train {

namespace {

constexpr int most_returns = 3;

/// Whether what was submitted can never be settled: it failed, or is not what was noted.
bool is_broken(const Error& error) {
  return is_gone(error) || error.code == Errc::conflict
         || (error.code == Errc::request_failed && !error.ambiguous);
}

Result<RunOutcome> run_with(const JobModel& model, const DurableRun& job, RunFolder& folder,
                            const OnStep& on_step, const std::stop_token& stop) {
  auto backend = ClientBackend{model.client};
  auto recipe = job.recipe(model, backend, folder);
  if (!recipe)
    return fail(std::move(recipe.error()));
  return run_steps(**recipe, backend, job.rows, job.settings, folder, on_step, stop);
}

} // namespace

Result<void> validate(const DurableRun& job) {
  if (job.rows == 0)
    return fail(Errc::invalid_argument, "there are no rows, but must be at least 1");
  if (!job.recipe)
    return fail(Errc::invalid_argument, "recipe is missing");
  if (job.model.from.empty() && job.model.base_model.empty())
    return fail(Errc::invalid_argument, "model.base_model is empty");
  if (job.model.from.empty())
    if (auto good = validate(job.model.lora_config); !good)
      return good;
  if (auto good = validate(job.settings); !good)
    return good;
  return job.checked;
}

Result<RunOutcome> run_durable(const OpenService& open, const DurableRun& job, RunFolder& folder,
                               const OnStep& on_step, const NoticeSink& notices,
                               const std::stop_token& stop) {
  const auto finished = folder.journal()->finished();
  if (!finished)
    return fail(finished.error());
  if (*finished)
    return outcome_of(folder);
  if (auto good = validate(job); !good)
    return fail(std::move(good.error()));
  auto steps = folder.headlines().size();
  for (auto returns = 0;; ++returns) {
    auto model = open_job_model(open, job.model, folder, notices);
    if (!model)
      return fail(std::move(model.error()));
    auto outcome = run_with(*model, job, folder, on_step, stop);
    if (outcome) {
      if (!outcome->stopped)
        if (auto noted = folder.journal()->finish(); !noted)
          return fail(std::move(noted.error()));
      return outcome;
    }
    if (!is_broken(outcome.error()))
      return outcome;
    if (auto noted = folder.journal()->abandon(); !noted)
      return fail(std::move(noted.error()));
    if (folder.headlines().size() > steps)
      returns = 0;
    steps = folder.headlines().size();
    if (!is_gone(outcome.error()) || returns == most_returns)
      return outcome;
    if (notices)
      notices({Severity::warning, "going back to a checkpoint: " + outcome.error().message});
  }
}

} // namespace tinkaf::train
