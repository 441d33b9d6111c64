// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "messages/restart_policy.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace tinkaf {

/// How far a job is.
struct JobProgress {
  std::size_t steps_done = 0;
  std::size_t steps = 0;

  /// Of the last step: mean loss per token, in nats; or what else a job's steps are judged by.
  std::optional<double> loss;
};

/// How the function of a job ended without an error.
enum class JobEnd : std::uint8_t {
  finished,
  /// Because it was asked to; called again, it goes on.
  stopped,
};

/// What the function of a job is given.
struct JobRun {
  /// Asks the function to come to an end soon, with `JobEnd::stopped`.
  std::stop_token stop;

  /// Tells how far it is; may be called from any thread, also behind its end.
  std::function<void(const JobProgress&)> report;
};

/// Does the work of a job, on a thread of its own. Called again on the same job, it goes on where
/// the call before ended, however that was. May throw, which counts as an error that passes.
using JobFn = std::function<Result<JobEnd>(const JobRun&)>;

/// Asks for a job.
struct StartJob {
  /// Tells it from the others; not empty.
  std::string name;

  JobFn run;

  /// How it is started again after an error that may pass (see `is_retryable`), or when it broke.
  RestartPolicy restarts = {};
};

enum class JobState : std::uint8_t {
  /// For a place among the jobs that run.
  waiting,
  running,
  /// Was asked to stop, and has not yet.
  stopping,
  paused,
  /// For the pause before it is started again.
  restarting,
  // The end:
  finished,
  cancelled,
  failed,
};

/// Returns the name of a state, for example "running".
[[nodiscard]] const char* to_string(JobState state) noexcept;

/// Whether a job is at its end.
[[nodiscard]] constexpr bool is_end(JobState state) noexcept {
  return state >= JobState::finished;
}

/// What is known of a job.
struct JobStatus {
  std::string name;
  JobState state = JobState::waiting;
  JobProgress progress;
  std::uint32_t restarts = 0;

  /// Why it was started again last, or why it failed.
  std::optional<Error> last_error;
};

/// Jobs in the order in which they were asked for.
using JobStatuses = std::vector<JobStatus>;

} // namespace tinkaf
