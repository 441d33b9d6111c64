// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/datum.hpp"
#include "messages/training.hpp"

namespace tinkaf {

/// What is left of a custom loss once it is computed.
struct LinearLoss {
  /// Data whose cross-entropy has the gradient of the custom loss.
  Batch data;

  /// The custom loss's own metrics.
  Metrics metrics;
};

} // namespace tinkaf
