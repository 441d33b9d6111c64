// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <string>

#include "train/run_folder.hpp"

namespace tinkaf::train {

// What an earlier process wrote, read again; `Errc::io_error` for anything else.

/// A number of a row of `metrics.jsonl`; NaN where it is null or missing.
[[nodiscard]] Result<double> read_number(const std::string& row, const std::string& name);

/// A row of `checkpoints.jsonl`.
[[nodiscard]] Result<CheckpointRow> read_checkpoint_row(const std::string& row);

} // namespace tinkaf::train
