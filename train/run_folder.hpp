// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "journal/job_journal.hpp"
#include "train/file_output.hpp"
#include "train/step_row.hpp"

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

  /// `tinker://…/sampler_weights/…`, to sample from; empty for one that is only there to go on
  /// from.
  std::string sampler_path;

  friend bool operator==(const CheckpointRow&, const CheckpointRow&) = default;
};

/// The row as one JSON object without a line end.
[[nodiscard]] std::string to_json(const CheckpointRow& row);

/// The folder that a run writes: `config.json`, `metrics.jsonl` (a row each step),
/// `checkpoints.jsonl` (a row each checkpoint), and `journal.sqlite`, from which a later process
/// goes on and makes the other files anew. Held by one process at a time. Not for use from several
/// threads, except for the journal.
class RunFolder {
public:
  /// Opens a run, or begins one: makes the folder and its files, so that a full disk or a missing
  /// right shows before any work is done.
  /// @param identity tells the job from others
  /// @param headline the column of `metrics.jsonl` that tells best how well the run goes
  /// @returns `Errc::conflict` if the folder holds another job's run, a run without a journal, or
  ///   one that another process works on; `Errc::io_error` naming the file and the system's reason
  [[nodiscard]] static Result<RunFolder> open(const std::filesystem::path& folder,
                                              const JobIdentity& identity,
                                              std::string headline = "train_mean_nll");

  /// What tells the run's job from others, if it is at its end; see `JobJournal::finished_job`.
  [[nodiscard]] static Result<std::optional<JobIdentity>>
  finished_job(const std::filesystem::path& folder);

  RunFolder(RunFolder&&) noexcept = default;
  RunFolder& operator=(RunFolder&&) = delete;

  /// Takes away again what `open` made, if nothing happened since.
  ~RunFolder();

  /// Writes `config.json`, the settings of the run.
  /// @param json one JSON object
  [[nodiscard]] Result<void> write_config(const std::string& json);

  /// Where the run's client writes down what it sends.
  [[nodiscard]] const std::shared_ptr<JobJournal>& journal() const noexcept {
    return journal_;
  }

  /// The run goes on with another model, see `JobJournal::begin`; rows beyond its first step go,
  /// and samples beyond the first step that is not settled.
  [[nodiscard]] Result<void> begin(const JobAttempt& attempt);

  /// Nothing has come of the last `begin`: the service has refused to make the model. What `open`
  /// made goes again with this, so that the next job may have the folder.
  void begin_refused() noexcept {
    made_ = std::move(begun_);
  }

  /// Notes a step's results, which settle its operations.
  /// @param operations how many
  [[nodiscard]] Result<void> settle(const StepRow& row, std::size_t operations);

  /// Notes a checkpoint, which settles its saves.
  /// @param operations how many
  [[nodiscard]] Result<void> settle(const CheckpointRow& row, std::size_t operations);

  /// Takes out a checkpoint that the service no longer has.
  [[nodiscard]] Result<void> forget(const CheckpointRow& row);

  /// The headline of each step that is settled; NaN where a row has none.
  [[nodiscard]] const std::vector<double>& headlines() const noexcept {
    return headlines_;
  }

  /// Oldest first.
  [[nodiscard]] const std::vector<CheckpointRow>& checkpoints() const noexcept {
    return checkpoints_;
  }

  [[nodiscard]] const std::filesystem::path& path() const noexcept {
    return folder_;
  }

private:
  RunFolder(std::filesystem::path folder, std::shared_ptr<JobJournal> journal, LineFile metrics,
            LineFile checkpoints, std::vector<std::filesystem::path> made, std::string headline);

  /// Reads the journal and makes the files tell the same.
  Result<void> load();

  std::filesystem::path folder_;
  std::shared_ptr<JobJournal> journal_;
  LineFile metrics_file_;
  LineFile checkpoints_file_;
  std::string headline_;
  std::vector<double> headlines_;
  std::vector<CheckpointRow> checkpoints_;

  /// What `open` made, in the order of making; empty once something has happened.
  std::vector<std::filesystem::path> made_;

  /// The same, between `begin` and the first result.
  std::vector<std::filesystem::path> begun_;
};

} // namespace tinkaf::train
