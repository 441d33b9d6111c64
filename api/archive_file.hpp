// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/http/http_message.hpp"
#include "messages/rest_download.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace tinkaf {

/// A file that fills with the body of one answer, or of several that continue one another.
class ArchiveFile : public BodySink {
public:
  /// Creates the file, or empties it.
  [[nodiscard]] static Result<std::shared_ptr<ArchiveFile>>
  create(const std::filesystem::path& path, std::int64_t max_bytes, DownloadProgressSink progress);

  explicit ArchiveFile(int descriptor) : descriptor_(descriptor) {}
  ~ArchiveFile() override;
  ArchiveFile(const ArchiveFile&) = delete;
  ArchiveFile& operator=(const ArchiveFile&) = delete;

  /// Headers that ask for the rest; empty if all has to come again.
  [[nodiscard]] HttpHeaders range_headers() const;

  /// Forgets what has come.
  [[nodiscard]] Result<void> restart();

  /// @returns a retryable error if the answer is no continuation of what has come
  [[nodiscard]] Result<void> begin(const HttpResponse& head) override;
  [[nodiscard]] Result<void> write(std::string_view bytes) override;

  [[nodiscard]] std::int64_t size() const noexcept {
    return size_;
  }

  /// What the server announced.
  [[nodiscard]] std::optional<std::int64_t> total() const noexcept {
    return total_;
  }

private:
  [[nodiscard]] Result<void> begin_afresh(const HttpResponse& head);
  [[nodiscard]] Result<void> begin_rest(const HttpResponse& head);
  [[nodiscard]] Result<void> check_size(std::int64_t size) const;
  void report();

  int descriptor_;
  std::filesystem::path path_;
  std::int64_t max_bytes_ = 0;
  DownloadProgressSink progress_;
  std::int64_t size_ = 0;
  std::int64_t reported_ = 0;
  std::optional<std::int64_t> total_;

  /// What tells this version of the archive from others; empty if nothing does.
  std::string validator_;
};

} // namespace tinkaf
