// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/notice.hpp"

#include <stop_token>
#include <vector>

#include "train/job_model.hpp"
#include "train/sft.hpp"

namespace tinkaf::train {

/// A fine-tuning job that survives its process, and its service's forgetting.
struct DurableSft {
  JobModelSettings model;
  SftSettings settings;
};

/// Trains as `run_sft` does, from where `folder` says, and to the end: when the service has lost
/// session, model or results, it goes back to the newest checkpoint by itself. Called again on the
/// same folder after an error, a stop or a killed process, it goes on; `metrics.jsonl` becomes the
/// same as without. Blocks; for one thread.
///
/// @returns at once if the run is at its end already; the first error that a checkpoint does not
///   cure, or one that going back has not cured three times without a step done between. After an
///   operation that failed at the service, the next call goes back to a checkpoint.
[[nodiscard]] Result<SftOutcome> run_durable_sft(const OpenService& open, const DurableSft& job,
                                                 const std::vector<Example>& examples,
                                                 RunFolder& folder, const OnStep& on_step,
                                                 const NoticeSink& notices, std::stop_token stop);

} // namespace tinkaf::train
