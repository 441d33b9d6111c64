// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/session.hpp"
#include "messages/timestamp.hpp"
#include "messages/tinker_path.hpp"
#include "messages/training.hpp"
#include "server/journal/record_log.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tinkaf::server {

/// What is noted next to the weights of a checkpoint.
struct CheckpointInfo {
  std::string base_model;
  LoraConfig lora_config;
  Timestamp created;

  /// Absent if it is kept for ever.
  std::optional<Timestamp> expires;

  bool is_public = false;

  /// What its client has noted with it.
  UserMetadata user_metadata;

  /// Tells it from others that had or will have its path; made when it is written.
  std::string version;
};

struct StoredCheckpoint {
  TinkerPath path;
  CheckpointInfo info;
  std::int64_t size_bytes = 0;
};

/// What there is, and the checkpoints that are there but cannot be read, with the reason.
struct StoredCheckpoints {
  std::vector<StoredCheckpoint> checkpoints;  // newest first
  std::map<std::string, std::string> damaged; // by run
};

/// A folder with weights, which stays as it is until the last holder has let go; then it is
/// removed.
using WeightsFolder = std::shared_ptr<const std::filesystem::path>;

/// The folder of a server's checkpoints, held by one server at a time. Thread-safe.
///
/// A checkpoint past its expiry is treated as gone whether its files are still there or not.
class StateFolder {
public:
  /// `$XDG_STATE_HOME/tinkaf`, else `~/.local/state/tinkaf`.
  [[nodiscard]] static std::filesystem::path default_dir();

  /// Makes the folder if it is missing, locks it, and removes what an earlier server left
  /// unfinished.
  /// @param dir if empty, `default_dir()`
  /// @returns `Errc::conflict` if another server holds it, `Errc::io_error` naming the folder
  [[nodiscard]] static Result<std::unique_ptr<StateFolder>> open(std::filesystem::path dir,
                                                                 DiskFull full = {});

  /// Lets go of the folder.
  ~StateFolder();
  StateFolder(const StateFolder&) = delete;
  StateFolder& operator=(const StateFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& dir() const noexcept {
    return dir_;
  }

  /// Whether the text can be the name of a checkpoint: up to 255 of `A-Z a-z 0-9 . _ -`.
  [[nodiscard]] static Result<void> check_name(const std::string& name);

  /// Reads a checkpoint's note.
  /// @returns `Errc::not_found`, also for one that has expired, and `Errc::io_error` for a damaged
  ///   note
  [[nodiscard]] Result<CheckpointInfo> info(const TinkerPath& path, Timestamp now) const;

  /// The weights of a checkpoint; what happens to the checkpoint later does not change them.
  /// @returns as `info`
  [[nodiscard]] Result<WeightsFolder> pin(const TinkerPath& path, Timestamp now);

  /// Fills a folder by `fill`, notes `info` in it, and puts it in its place; one of that name is
  /// replaced. The checkpoint is there complete or not at all.
  /// @param info its version is made here
  /// @returns the error of `fill`, or `Errc::io_error`
  [[nodiscard]] Result<void>
  put(const TinkerPath& path, CheckpointInfo info,
      const std::function<Result<void>(const std::filesystem::path&)>& fill);

  /// Changes the note, not the weights.
  /// @param change may refuse
  /// @returns the error of `change`, or as `info`
  [[nodiscard]] Result<void> change(const TinkerPath& path, Timestamp now,
                                    const std::function<Result<void>(CheckpointInfo&)>& change);

  /// Removes a checkpoint and frees its disk space.
  /// @returns `Errc::not_found`, `Errc::io_error`
  [[nodiscard]] Result<void> remove(const TinkerPath& path, Timestamp now);

  /// All checkpoints, or those of one run.
  [[nodiscard]] StoredCheckpoints list(Timestamp now,
                                       const std::optional<std::string>& run_id = {}) const;

  /// Frees the disk space of checkpoints that have expired. Their notes stay for a while, so that
  /// whoever asks is told why they are gone.
  /// @returns how many were freed
  std::size_t free_expired(Timestamp now);

  /// A folder for weights that nobody else shares; nothing is there yet.
  [[nodiscard]] WeightsFolder new_weights() const;

  /// The same in a place of the caller's choice, where it outlives this server: once `stay` was
  /// called, nothing is removed.
  [[nodiscard]] WeightsFolder lasting_weights(std::filesystem::path folder) const;
  void stay() {
    *stay_ = true;
  }

  /// Gives the weights in a folder a second name in another, which is made.
  [[nodiscard]] static Result<void> link(const std::filesystem::path& from,
                                         const std::filesystem::path& to);

  /// A file for a while; nothing is there yet, and nobody removes it before the server ends.
  [[nodiscard]] std::filesystem::path scratch_file() const;

  // Runs, each of which may have one record next to its checkpoints.

  [[nodiscard]] std::vector<std::string> run_ids() const;

  /// @returns `Errc::io_error`, also if there is none
  [[nodiscard]] Result<std::string> read_run(const std::string& run_id) const;

  /// Whether there is a record, damaged or not.
  [[nodiscard]] bool has_run(const std::string& run_id) const;

  /// Removes the record and all checkpoints of a run.
  void remove_run(const std::string& run_id) const;

  /// Replaces the record at once or not at all.
  [[nodiscard]] Result<void> write_run(const std::string& run_id, const std::string& text) const;

private:
  StateFolder(std::filesystem::path dir, int lock, DiskFull full);

  /// Whether a text can be a part of a path: letters, digits and what is in `also`.
  [[nodiscard]] static bool is_safe(std::string_view part, std::string_view also);

  [[nodiscard]] std::filesystem::path runs() const;
  [[nodiscard]] std::filesystem::path folder_of(const TinkerPath& path) const;
  [[nodiscard]] std::filesystem::path scratch() const;
  [[nodiscard]] static WeightsFolder owned(std::filesystem::path folder);

  std::filesystem::path dir_;
  int lock_;
  const DiskFull full_;
  const std::shared_ptr<std::atomic<bool>> stay_ = std::make_shared<std::atomic<bool>>(false);

  std::mutex mutex_; // held while a checkpoint changes or is pinned
  std::map<std::string, std::weak_ptr<const std::filesystem::path>> pinned_; // by version
};

} // namespace tinkaf::server
