// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/service.hpp"
#include "messages/jobs.hpp"
#include "messages/notice.hpp"

#include <filesystem>
#include <memory>
#include <vector>

#include "journal/job_journal.hpp"
#include "train/durable_sft.hpp"

namespace tinkaf::train {

/// A fine-tuning job for a supervisor of jobs.
struct SftJobSettings {
  /// The service; each job has a session of its own there.
  ClientOptions options;

  /// Folder of the run.
  std::filesystem::path folder;

  /// Tells the job from others that may have used the folder.
  JobIdentity identity;

  DurableSft job;

  /// At least one; shared by those who train on them.
  std::shared_ptr<const std::vector<Example>> examples;

  NoticeSink notices;
};

/// The function of such a job, see `run_durable_sft`: called again on the same folder, in this
/// process or in another, it goes on.
[[nodiscard]] JobFn sft_job(SftJobSettings settings);

} // namespace tinkaf::train
