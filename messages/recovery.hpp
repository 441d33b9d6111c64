// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

// What is told of training runs that break and are gone on with from a checkpoint.

namespace tinkaf {

/// A checkpoint and how good it is.
struct RatedCheckpoint {
  /// A `tinker://…/weights/…` path.
  std::string path;

  /// Any measure, such as a held-out loss.
  double metric = 0.0;

  friend bool operator==(const RatedCheckpoint&, const RatedCheckpoint&) = default;
};

/// What happens to a run that is watched.
enum class RecoveryEventKind : std::uint8_t {
  /// It is corrupted, or its client has broken.
  detected,
  /// The service could not be asked how it is; asked again at the next poll.
  poll_error,
  /// A try begins.
  started,
  checkpoint_selected,
  /// A client has been made from the checkpoint.
  client_created,
  /// The new client is watched in place of the old one.
  completed,
  /// A try has failed.
  failed,
  /// No further try is made, and the run is no longer watched.
  exhausted,
};

/// Returns the name, for example "checkpoint_selected".
[[nodiscard]] constexpr const char* to_string(RecoveryEventKind kind) noexcept {
  switch (kind) {
  case RecoveryEventKind::detected:
    return "detected";
  case RecoveryEventKind::poll_error:
    return "poll_error";
  case RecoveryEventKind::started:
    return "started";
  case RecoveryEventKind::checkpoint_selected:
    return "checkpoint_selected";
  case RecoveryEventKind::client_created:
    return "client_created";
  case RecoveryEventKind::completed:
    return "completed";
  case RecoveryEventKind::failed:
    return "failed";
  case RecoveryEventKind::exhausted:
    return "exhausted";
  }
  return "unknown";
}

struct RecoveryEvent {
  RecoveryEventKind kind = RecoveryEventKind::detected;

  /// The run that broke.
  std::string training_run_id;

  /// Which try, from 1; 0 before the first.
  std::uint32_t attempt = 0;

  /// The cause, the checkpoint's path or the new run's id, whichever the kind is about.
  std::string detail;

  friend bool operator==(const RecoveryEvent&, const RecoveryEvent&) = default;
};

/// Takes events; called from any thread, must not block.
using RecoveryEventSink = std::function<void(const RecoveryEvent&)>;

/// How the runs that are watched fare.
struct RecoveryStatus {
  std::vector<std::string> watched;
  std::vector<std::string> recovering;
  std::uint64_t recovered = 0;
  std::uint64_t given_up = 0;

  friend bool operator==(const RecoveryStatus&, const RecoveryStatus&) = default;
};

} // namespace tinkaf
