// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/tinker_path.hpp"
#include "messages/training.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace tinkaf::server {

/// What is noted next to the weights of a checkpoint.
struct CheckpointInfo {
  std::string base_model;
  LoraConfig lora_config;

  // Seconds since 1970; no expiry means for ever.
  std::int64_t created = 0;
  std::optional<std::int64_t> expires;
};

/// The folder of a server's checkpoints, held by one server at a time. Thread-safe, as long as
/// nobody writes the same checkpoint twice at the same time.
class StateFolder {
public:
  using Clock = std::chrono::system_clock;

  /// Makes the folder if it is missing, locks it, and removes what an earlier server left
  /// unfinished.
  /// @param dir if empty: `$XDG_STATE_HOME/tinkaf`, else `~/.local/state/tinkaf`
  /// @returns `Errc::conflict` if another server holds it, `Errc::io_error` naming the folder
  [[nodiscard]] static Result<std::unique_ptr<StateFolder>> open(std::filesystem::path dir);

  /// Lets go of the folder.
  ~StateFolder();
  StateFolder(const StateFolder&) = delete;
  StateFolder& operator=(const StateFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& dir() const noexcept {
    return dir_;
  }

  /// Whether the text can be the name of a checkpoint: up to 255 of `A-Z a-z 0-9 . _ -`.
  [[nodiscard]] static Result<void> check_name(const std::string& name);

  /// Where a checkpoint is; never outside of the state folder.
  /// @returns `Errc::not_found`, also for one that has expired
  [[nodiscard]] Result<std::filesystem::path> find(const TinkerPath& path,
                                                   Clock::time_point now) const;

  /// @returns as `find`, and `Errc::io_error` for a damaged note
  [[nodiscard]] Result<CheckpointInfo> info(const TinkerPath& path, Clock::time_point now) const;

  /// Fills a folder by `fill`, notes `info` in it, and puts it in its place; one of that name is
  /// replaced. The checkpoint is there complete or not at all.
  /// @returns the error of `fill`, or `Errc::io_error`
  [[nodiscard]] Result<void>
  put(const TinkerPath& path, const CheckpointInfo& info,
      const std::function<Result<void>(const std::filesystem::path&)>& fill) const;

  /// A path for weights that live as long as this server at most; nothing is there yet.
  [[nodiscard]] std::filesystem::path passing(const std::string& id) const;

private:
  StateFolder(std::filesystem::path dir, int lock);

  [[nodiscard]] std::filesystem::path folder_of(const TinkerPath& path) const;
  [[nodiscard]] std::filesystem::path scratch() const;

  std::filesystem::path dir_;
  int lock_;
};

} // namespace tinkaf::server
