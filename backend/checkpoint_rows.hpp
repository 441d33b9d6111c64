// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "messages/notice.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/file_output.hpp"

// `checkpoints.jsonl`: one JSON object a line for each checkpoint of a run, oldest first.

namespace tinkaf {

struct CheckpointEntry {
  std::string name;

  /// The batch to run next, so that going on repeats none and skips none.
  std::optional<std::int64_t> batch;

  /// The epoch that it belongs to.
  std::optional<std::int64_t> epoch;

  /// True for the last one of a run.
  std::optional<bool> final;

  /// `tinker://…/weights/…`, to train on.
  std::optional<std::string> state_path;

  /// `tinker://…/sampler_weights/…`, to sample from.
  std::optional<std::string> sampler_path;

  /// Further fields, each as JSON; they are kept when a row is written again.
  std::map<std::string, std::string> extra;

  /// True if there is a field of that name, among `extra` too.
  [[nodiscard]] bool has(std::string_view field) const;

  friend bool operator==(const CheckpointEntry&, const CheckpointEntry&) = default;
};

/// One line without its end; absent fields are left out. An extra of a known field's name is
/// dropped with a notice; one that is no JSON is written as text.
[[nodiscard]] std::string to_json(const CheckpointEntry& entry, const NoticeSink& notices = {});

/// Reads the text of such a file; blank lines are skipped.
/// @param name what to call it in errors
/// @returns `Errc::invalid_argument` that begins with `name:line`; a last line that a crash has cut
///   off is told as such
[[nodiscard]] Result<std::vector<CheckpointEntry>> parse_checkpoints(std::string_view text,
                                                                     const std::string& name);

/// Reads a file; none if it or its folder is not there.
[[nodiscard]] Result<std::vector<CheckpointEntry>>
read_checkpoints(const std::filesystem::path& file);

/// The newest row that has a field; nullptr if there is none. The default is the one to go on from.
[[nodiscard]] const CheckpointEntry* last_checkpoint(const std::vector<CheckpointEntry>& rows,
                                                     std::string_view required = "state_path");

/// The one to use in the end: the first that is named `final` and has a path, else the newest that
/// has one; nullptr if there is none.
[[nodiscard]] const CheckpointEntry* final_checkpoint(const std::vector<CheckpointEntry>& rows);

/// Where a run begins.
struct RunOrigin {
  /// To go on from with the optimizer's state; empty if the folder of the run has no such row.
  std::string resume_state_path;

  /// To begin with otherwise: weights alone. Empty for a fresh adapter.
  std::string init_weights_path;

  /// What to run first.
  std::int64_t batch = 0;
  std::int64_t epoch = 0;

  friend bool operator==(const RunOrigin&, const RunOrigin&) = default;
};

/// The newest state of the run itself, else what it was to begin with, else nothing.
/// @param load_path what it was to begin with; may be empty
[[nodiscard]] RunOrigin run_origin(const std::vector<CheckpointEntry>& rows,
                                   const std::string& load_path = {});

/// The file of a run, to which rows are added.
class CheckpointFile {
public:
  /// Opens `checkpoints.jsonl` in a folder, which is made if need be, and reads what is there.
  /// @returns as `read_checkpoints`: nothing is added behind a row that is not understood, so call
  ///   this before anything is sent
  [[nodiscard]] static Result<CheckpointFile> open(const std::filesystem::path& folder,
                                                   NoticeSink notices = {});

  /// Adds a row, which is on the disk when this returns.
  [[nodiscard]] Result<void> append(CheckpointEntry entry);

  /// Oldest first.
  [[nodiscard]] const std::vector<CheckpointEntry>& rows() const noexcept {
    return rows_;
  }

  [[nodiscard]] const std::filesystem::path& path() const noexcept {
    return path_;
  }

private:
  CheckpointFile(std::filesystem::path path, std::vector<CheckpointEntry> rows,
                 train::LineFile file, NoticeSink notices);

  std::filesystem::path path_;
  std::vector<CheckpointEntry> rows_;
  train::LineFile file_;
  NoticeSink notices_;
};

} // namespace tinkaf
