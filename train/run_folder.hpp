// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "train/file_output.hpp"
#include "train/metrics.hpp"

namespace tinkaf::train {

/// One row of `checkpoints.jsonl`.
struct CheckpointRow {
  /// Name of the checkpoint, for example "final".
  std::string name;

  /// The batch that comes next, counted from 0 through the whole run.
  std::size_t batch = 0;

  /// Passes through the data that are complete.
  std::size_t epoch = 0;

  /// True if the run is at its end.
  bool final = false;

  /// `tinker://…/weights/…`, to train on.
  std::string state_path;

  /// `tinker://…/sampler_weights/…`, to sample from.
  std::string sampler_path;

  friend bool operator==(const CheckpointRow&, const CheckpointRow&) = default;
};

/// The row as one JSON object without a line end.
[[nodiscard]] std::string to_json(const CheckpointRow& row);

/// The folder that a run writes: `config.json`, `metrics.jsonl` (a row each step) and
/// `checkpoints.jsonl` (a row each checkpoint). Not for use from several threads.
class RunFolder {
public:
  /// Makes the folder and its files, so that a full disk or a missing right shows before any work
  /// is done.
  /// @returns `Errc::conflict` if the folder holds a run already, `Errc::io_error` naming the file
  ///          and the system's reason
  [[nodiscard]] static Result<RunFolder> create(const std::filesystem::path& folder);

  RunFolder(RunFolder&&) noexcept = default;
  RunFolder& operator=(RunFolder&&) = delete;

  /// Takes away again what `create` made, if nothing was written since.
  ~RunFolder();

  /// Writes `config.json`, the settings of the run.
  /// @param json one JSON object
  [[nodiscard]] Result<void> write_config(const std::string& json);

  [[nodiscard]] Result<void> append(const MetricsRow& row);
  [[nodiscard]] Result<void> append(const CheckpointRow& row);

  [[nodiscard]] const std::filesystem::path& path() const noexcept {
    return folder_;
  }

private:
  RunFolder(std::filesystem::path folder, LineFile metrics, LineFile checkpoints,
            std::vector<std::filesystem::path> made);

  Result<void> append(LineFile& file, const std::string& line);

  std::filesystem::path folder_;
  LineFile metrics_;
  LineFile checkpoints_;

  /// What `create` made, in the order of making; empty once something was written.
  std::vector<std::filesystem::path> made_;
};

} // namespace tinkaf::train
