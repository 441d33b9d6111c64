// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <string>

#include "train/run_folder.hpp"

namespace tinkaf::train {

// What an earlier process wrote, read again; `Errc::io_error` for anything else.

/// `train_mean_nll` of a row of `metrics.jsonl`; NaN where it is null.
[[nodiscard]] Result<double> read_train_mean_nll(const std::string& row);

/// A row of `checkpoints.jsonl`.
[[nodiscard]] Result<CheckpointRow> read_checkpoint_row(const std::string& row);

} // namespace tinkaf::train
