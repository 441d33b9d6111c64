// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/notice.hpp"

#include <stop_token>
#include <vector>

#include "train/durable_run.hpp"
#include "train/sft.hpp"

namespace tinkaf::train {

/// A fine-tuning job that survives its process, and its service's forgetting.
struct DurableSft {
  JobModelSettings model;
  RunSettings settings;
};

/// Trains as `run_sft` does, durably, see `run_durable`.
[[nodiscard]] Result<RunOutcome> run_durable_sft(const OpenService& open, const DurableSft& job,
                                                 const std::vector<Example>& examples,
                                                 RunFolder& folder, const OnStep& on_step,
                                                 const NoticeSink& notices,
                                                 const std::stop_token& stop);

} // namespace tinkaf::train
