// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "messages/ledger.hpp"

#include <cstdint>

namespace tinkaf {

/// Where a training client writes down what it sends, to survive its process. Called on a thread
/// that may wait for a disk, one call at a time.
class OperationLog {
public:
  virtual ~OperationLog() = default;

  /// Notes numbers before their requests leave; the note is safe when this returns. What was noted
  /// of these numbers and of those above before never left and is forgotten. With an error, nothing
  /// is sent; the operation and all that are behind it fail with it.
  [[nodiscard]] virtual Result<void> note(const NumberedTurn& turn) = 0;

  /// The service has the request of that number; `result` is where its answer will be.
  [[nodiscard]] virtual Result<void> accepted(std::int64_t seq_id, const FutureRef& result) = 0;
};

} // namespace tinkaf
