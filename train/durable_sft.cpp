// SPDX-License-Identifier: Apache-2.0
#include "train/durable_sft.hpp"

#include <utility>

#include "train/client_backend.hpp"

namespace tinkaf::train {

namespace {

constexpr int most_returns = 3;

/// What a run has come to that is at its end.
SftOutcome outcome_of(const RunFolder& folder) {
  auto result = SftOutcome{};
  result.steps_done = folder.losses().size();
  if (!folder.losses().empty()) {
    result.first_nll = folder.losses().front();
    result.last_nll = folder.losses().back();
  }
  if (!folder.checkpoints().empty())
    result.checkpoint = folder.checkpoints().back();
  return result;
}

/// Whether what was submitted can never be settled: it failed, or is not what was noted.
bool is_broken(const Error& error) {
  return is_gone(error) || error.code == Errc::conflict
         || (error.code == Errc::request_failed && !error.ambiguous);
}

} // namespace

Result<SftOutcome> run_durable_sft(const OpenService& open, const DurableSft& job,
                                   const std::vector<Example>& examples, RunFolder& folder,
                                   const OnStep& on_step, const NoticeSink& notices,
                                   std::stop_token stop) {
  const auto finished = folder.journal()->finished();
  if (!finished)
    return fail(finished.error());
  if (*finished)
    return outcome_of(folder);
  auto steps = folder.losses().size();
  for (auto returns = 0;; ++returns) {
    auto model = open_job_model(open, job.model, folder, notices);
    if (!model)
      return fail(std::move(model.error()));
    auto backend = ClientBackend{model->client};
    auto outcome = run_sft(backend, examples, job.settings, folder, on_step, stop);
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
    if (folder.losses().size() > steps)
      returns = 0;
    steps = folder.losses().size();
    if (!is_gone(outcome.error()) || returns == most_returns)
      return outcome;
    if (notices)
      notices({Severity::warning, "going back to a checkpoint: " + outcome.error().message});
  }
}

} // namespace tinkaf::train
