// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/future.hpp"

#include <string>
#include <vector>

namespace tinkaf {

/// A result that is waited for.
struct PendingResult {
  std::string request_id;
  RequestType type = RequestType::forward_backward;
  QueueState queue_state = QueueState::unknown;

  /// The service's own words; may be empty.
  std::string queue_state_reason;

  friend bool operator==(const PendingResult&, const PendingResult&) = default;
};

/// How far a call is.
struct CallStatus {
  /// What the service has accepted and not yet answered, one for each part of a batch. Empty before
  /// the call is submitted, and for calls that have no future.
  std::vector<PendingResult> results;

  friend bool operator==(const CallStatus&, const CallStatus&) = default;
};

} // namespace tinkaf
