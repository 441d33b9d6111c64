// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "messages/ledger.hpp"
#include "messages/operation_log.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tinkaf {

/// One thing that tells a job from another: an option and its value, for example "--steps", "100".
struct JobField {
  std::string name;
  std::string value;
};

/// What makes a job the one that it is.
using JobIdentity = std::vector<JobField>;

/// A model in training at the service. A job has one at a time, and another after it had to go
/// back to a checkpoint.
struct JobAttempt {
  /// Without an id once the attempt is abandoned.
  SessionRecord session;

  /// Empty until the service has made the model.
  std::string model_id;

  /// The step that the model was ready for when it was made, counted from 0.
  std::size_t first_step = 0;

  /// The `tinker://…` path that it was made from; empty if it was new.
  std::string restored_from;
};

/// A step whose results are in.
struct JobStep {
  /// Counted from 0.
  std::size_t step = 0;

  /// Where its batch stood in the data: passes before it, and batches before it in this one.
  std::size_t epoch = 0;
  std::size_t batch = 0;

  /// Its row of `metrics.jsonl`, without the line end.
  std::string row;
};

/// A checkpoint that is complete.
struct JobCheckpoint {
  /// The step that comes next.
  std::size_t next_step = 0;

  /// `tinker://…/weights/…`, with the optimizer's state.
  std::string state_path;

  /// Its row of `checkpoints.jsonl`, without the line end.
  std::string row;
};

/// What a training job has to know to go on after its process was killed, in one SQLite file.
///
/// Thread-safe. One process at a time holds a journal; the lock goes with the process. What a call
/// writes is there completely or not at all: after a crash of the process everything, and after one
/// of the machine everything up to the last `note`, which waits for the disk.
///
/// Operations are settled in the order in which they were noted, a turn each: those that are not
/// are what the next process asks for again.
class JobJournal final : public OperationLog {
public:
  /// Opens the journal of a job, or begins it.
  /// @param file made if it is missing; its folder is there
  /// @returns `Errc::conflict` if another process holds it or if it is that of another job, naming
  ///   the first field that differs; `Errc::io_error` naming the file if it is no journal, damaged,
  ///   written by a newer release, or out of reach
  [[nodiscard]] static Result<std::unique_ptr<JobJournal>> open(const std::filesystem::path& file,
                                                                const JobIdentity& identity);

  /// What tells the job of a journal from others, if it has come to its end; nothing if it has not,
  /// or if there is no journal. Makes no file.
  /// @returns as `open`
  [[nodiscard]] static Result<std::optional<JobIdentity>>
  finished_job(const std::filesystem::path& file);

  ~JobJournal() override;
  JobJournal(const JobJournal&) = delete;
  JobJournal& operator=(const JobJournal&) = delete;

  // What is known.

  /// The present attempt; absent if there was none yet.
  [[nodiscard]] Result<std::optional<JobAttempt>> attempt() const;

  /// What a client needs to go on with the present attempt's model.
  [[nodiscard]] Result<AttachTrainingClient> attach() const;

  /// All steps that are settled, in order, from 0 without gaps.
  [[nodiscard]] Result<std::vector<JobStep>> steps() const;

  /// Oldest first.
  [[nodiscard]] Result<std::vector<JobCheckpoint>> checkpoints() const;

  /// Whether the job has come to its end.
  [[nodiscard]] Result<bool> finished() const;

  // What happens.

  /// Begins with another model. Forgets the steps from `first_step` on, the checkpoints beyond it,
  /// and all operations of the attempt before.
  [[nodiscard]] Result<void> begin(const JobAttempt& attempt);

  /// The model of the present attempt is there; what was noted until now has made it.
  /// @param session as it is now
  [[nodiscard]] Result<void> ready(const SessionRecord& session, const std::string& model_id);

  /// Notes the numbers that the session of the present attempt goes on with.
  [[nodiscard]] Result<void> update(const SessionRecord& session);

  [[nodiscard]] Result<void> note(const NumberedTurn& turn) override;
  [[nodiscard]] Result<void> accepted(std::int64_t seq_id, const FutureRef& result) override;

  /// Notes the results of a step, which settle its operations.
  /// @param turns how many operations of the present attempt that is
  [[nodiscard]] Result<void> settle(const JobStep& step, std::size_t turns);

  /// Notes a checkpoint, whose saves settle.
  [[nodiscard]] Result<void> settle(const JobCheckpoint& checkpoint, std::size_t turns);

  /// The present attempt cannot go on: its session counts as gone from now on.
  [[nodiscard]] Result<void> abandon();

  /// Forgets a checkpoint that the service no longer has.
  [[nodiscard]] Result<void> forget_checkpoint(const std::string& state_path);

  /// The job is at its end.
  [[nodiscard]] Result<void> finish();

private:
  struct Impl;
  explicit JobJournal(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

} // namespace tinkaf
