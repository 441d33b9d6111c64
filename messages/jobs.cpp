// SPDX-License-Identifier: Apache-2.0
#include "messages/jobs.hpp"

namespace tinkaf {

const char* to_string(JobState state) noexcept {
  switch (state) {
  case JobState::waiting:
    return "waiting";
  case JobState::running:
    return "running";
  case JobState::stopping:
    return "stopping";
  case JobState::paused:
    return "paused";
  case JobState::restarting:
    return "restarting";
  case JobState::finished:
    return "finished";
  case JobState::cancelled:
    return "cancelled";
  case JobState::failed:
    return "failed";
  }
  return "unknown";
}

} // namespace tinkaf
