// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace tinkaf::server {

/// One entry of a log: what it is, a note (JSON) and bytes that belong to it. Borrows both.
struct Record {
  std::uint8_t kind = 0;
  std::string_view note;
  std::string_view bytes;
};

/// What was found behind the last good record, or between two.
struct LogCondition {
  /// The end of the file was cut off while it was written; what was cut off was never promised.
  bool torn = false;

  /// What is wrong elsewhere, with the place; absent if nothing is.
  std::optional<std::string> damage;

  /// Where the next record belongs.
  std::uint64_t end = 0;
};

/// Says whether the disk is full, instead of the disk; for tests of clients.
using DiskFull = std::function<bool()>;

/// A file that only grows at its end. Each record has a checksum of its own and its length another,
/// so that a record that was cut off can be told from one that has changed. Thread-safe.
///
/// A record is in the hands of the operating system when `append` returns: it survives the end of
/// this process, however that comes, but perhaps not that of the system. The file is open only as
/// long as something is read or written, since there may be thousands of logs.
class RecordLog {
public:
  using Visit = std::function<void(const Record&)>;

  /// Nothing is read or made before the first `append`.
  explicit RecordLog(std::filesystem::path path, DiskFull full = {});

  /// Shows all records in order, those behind a damaged one too. A missing file has none.
  /// @returns `Errc::io_error` if the file cannot be read
  [[nodiscard]] Result<LogCondition> read(const Visit& visit) const;

  /// Cuts off what a writer before this one left unfinished.
  [[nodiscard]] Result<void> trim(const LogCondition& condition);

  /// Adds a record, or nothing.
  /// @returns `Errc::io_error` naming file and reason, for example a full disk
  [[nodiscard]] Result<void> append(const Record& record);

  /// Replaces the file by what `filter` writes when it is shown the records of now. Records that
  /// are appended meanwhile are kept. The old file is there until the new one is complete.
  /// @param first stands at the beginning of the new file; may be null
  /// @param filter takes a record and calls the function with all that is to be written for it
  [[nodiscard]] Result<void>
  rewrite(const Record* first,
          const std::function<void(const Record&, const Visit& write)>& filter);

  /// Bytes in the file.
  [[nodiscard]] std::uint64_t size() const;

  [[nodiscard]] const std::filesystem::path& path() const noexcept {
    return path_;
  }

private:
  const std::filesystem::path path_;
  const DiskFull full_;
  std::mutex rewriting_;
  mutable std::mutex mutex_;
  std::uint64_t size_ = 0; // of whole records
  bool torn_ = false;
};

} // namespace tinkaf::server
