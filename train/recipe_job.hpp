// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/service.hpp"
#include "messages/jobs.hpp"
#include "messages/notice.hpp"

#include <filesystem>

#include "journal/job_journal.hpp"
#include "train/durable_run.hpp"

namespace tinkaf::train {

/// A run of any recipe for a supervisor of jobs.
struct RecipeJobSettings {
  /// The service; each job has a session of its own there.
  ClientOptions options;

  /// Folder of the run.
  std::filesystem::path folder;

  /// Tells the job from others that may have used the folder.
  JobIdentity identity;

  /// Its headline is reported as the job's progress.
  DurableRun job;

  NoticeSink notices;
};

/// The function of such a job, see `run_durable`: called again on the same folder, in this process
/// or in another, it goes on.
[[nodiscard]] JobFn recipe_job(RecipeJobSettings settings);

} // namespace tinkaf::train
