// SPDX-License-Identifier: Apache-2.0
#include "actors/recovery.hpp"

#include <fmt/format.h>

namespace tinkaf {

namespace {

/// What an event means for people; nothing where it is of no weight.
std::string text_of(const RecoveryEvent& event) {
  switch (event.kind) {
  case RecoveryEventKind::detected:
    return "has broken: " + event.detail;
  case RecoveryEventKind::poll_error:
    return "cannot be asked for: " + event.detail;
  case RecoveryEventKind::started:
    return fmt::format("is being recovered, try {}", event.attempt);
  case RecoveryEventKind::checkpoint_selected:
    return "goes on from " + event.detail;
  case RecoveryEventKind::client_created:
    return "has a new client, that of " + event.detail;
  case RecoveryEventKind::completed:
    return "goes on as " + event.detail;
  case RecoveryEventKind::failed:
    return fmt::format("could not be recovered in try {}: {}", event.attempt, event.detail);
  case RecoveryEventKind::exhausted:
    return "is given up: " + event.detail;
  }
  return {};
}

Severity severity_of(RecoveryEventKind kind) {
  switch (kind) {
  case RecoveryEventKind::exhausted:
    return Severity::error;
  case RecoveryEventKind::detected:
  case RecoveryEventKind::poll_error:
  case RecoveryEventKind::failed:
  case RecoveryEventKind::completed:
    return Severity::warning;
  default:
    return Severity::info;
  }
}

} // namespace

void tell(const RecoverySettings& settings, const RecoveryEvent& event) {
  try {
    if (settings.callbacks.on_event)
      settings.callbacks.on_event(event);
    if (settings.notices)
      settings.notices({severity_of(event.kind),
                        "training run " + event.training_run_id + " " + text_of(event)});
  } catch (...) { // NOLINT(bugprone-empty-catch): what the user's code throws stops no recovery
  }
}

} // namespace tinkaf
