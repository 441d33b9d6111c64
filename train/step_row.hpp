// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tinkaf::train {

/// Names and numbers in the order in which they are written.
using Columns = std::vector<std::pair<std::string, std::variant<std::int64_t, double>>>;

/// One step of a run as a row of `metrics.jsonl`. Holds nothing that depends on the clock, so
/// that equal runs give equal rows.
struct StepRow {
  /// Counted from 0.
  std::size_t step = 0;

  /// Passes through the data that were complete when the step began.
  std::size_t epoch = 0;

  /// Batches of this pass that came before; not a column of its own.
  std::size_t batch_of_epoch = 0;

  /// What stands in the row behind step and epoch.
  Columns columns;

  /// Tokens that the step worked on; not a column of its own.
  std::int64_t tokens = 0;

  /// The number of this name; NaN if there is none.
  [[nodiscard]] double value(const std::string& name) const;
};

/// The row as one JSON object without a line end; numbers that are not finite become null.
[[nodiscard]] std::string to_json(const StepRow& row);

} // namespace tinkaf::train
