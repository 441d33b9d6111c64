// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace tinkaf::server {

/// A file open for reading, which can be read even after its name is gone. Thread-safe.
class OpenFile {
public:
  /// @returns `Errc::io_error` naming the file and the reason
  [[nodiscard]] static Result<std::shared_ptr<const OpenFile>>
  open(const std::filesystem::path& path);

  ~OpenFile();
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  /// When it was opened.
  [[nodiscard]] std::uint64_t size() const noexcept {
    return size_;
  }

  /// Reads what is there from `offset` on, at most what fits.
  /// @returns how much that was; 0 at the end and on failure
  [[nodiscard]] std::size_t read(std::uint64_t offset, std::span<char> into) const noexcept;

private:
  OpenFile(int handle, std::uint64_t size) : handle_(handle), size_(size) {}

  int handle_;
  std::uint64_t size_;
};

/// A run of bytes of a file.
struct FilePart {
  std::shared_ptr<const OpenFile> file;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

} // namespace tinkaf::server
