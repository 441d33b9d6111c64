// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace tinkaf::train {

/// Puts `content` in the place of `file` at once: readers see the old file or the whole new one,
/// also after a crash or on a full disk. One process and thread at a time.
/// @returns `Errc::io_error` naming the file and the system's reason
[[nodiscard]] Result<void> write_file(const std::filesystem::path& file, std::string_view content);

/// Waits until the names of what was made in a folder, or moved there, are on the disk; a folder
/// that cannot be synced is no reason to fail.
/// @param folder the present one if empty
void sync_folder(const std::filesystem::path& folder);

/// A text file that grows by whole lines. Not for use from several threads.
class LineFile {
public:
  /// Opens a file for appending, creating it if need be. A line that an earlier crash left
  /// unfinished is cut off.
  /// @returns `Errc::io_error` naming the file and the system's reason
  [[nodiscard]] static Result<LineFile> open(const std::filesystem::path& file);

  LineFile(LineFile&& other) noexcept;
  LineFile& operator=(LineFile&& other) noexcept;
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;
  ~LineFile();

  /// Adds a line, given without its end. If that fails, nothing of it stays in the file.
  /// @returns `Errc::io_error`, for example when the disk is full
  [[nodiscard]] Result<void> append(std::string_view line);

  /// Waits until everything added so far is on the disk, the file's name included.
  [[nodiscard]] Result<void> sync();

private:
  LineFile(int fd, std::int64_t size, std::filesystem::path file);

  int fd_ = -1;
  std::int64_t size_ = 0;
  std::filesystem::path file_;
  bool folder_synced_ = false;
};

} // namespace tinkaf::train
