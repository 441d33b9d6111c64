// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/rest_requests.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>

namespace tinkaf {

/// How far a download is.
struct DownloadProgress {
  std::int64_t bytes = 0;

  /// Absent if the server does not say.
  std::optional<std::int64_t> total;

  friend bool operator==(const DownloadProgress&, const DownloadProgress&) = default;
};

/// Takes progress; called on a thread of the download, must not block and must not throw. The bytes
/// go back to 0 where a download has to start afresh.
using DownloadProgressSink = std::function<void(const DownloadProgress&)>;

/// Asks for a checkpoint's files.
struct DownloadCheckpoint {
  CheckpointRef checkpoint;

  /// The folder that is to hold the files. It appears once all of them are there.
  std::filesystem::path destination;

  /// Replace a folder that is there; it stays as it is until the new one is complete.
  bool force = false;

  DownloadProgressSink progress;
};

struct DownloadedCheckpoint {
  std::filesystem::path destination;

  /// Size of the archive.
  std::int64_t archive_bytes = 0;

  std::size_t files = 0;

  /// Size of the files.
  std::int64_t file_bytes = 0;

  friend bool operator==(const DownloadedCheckpoint&, const DownloadedCheckpoint&) = default;
};

} // namespace tinkaf
