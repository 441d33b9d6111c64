// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace tinkaf::model {

/// A file that appears complete or not at all: written under a temporary name next to its place,
/// flushed to disk, then renamed. Without `commit` nothing is left behind.
class AtomicFile {
public:
  /// @returns `Errc::io_error` naming the file and the reason
  [[nodiscard]] static Result<AtomicFile> create(const std::filesystem::path& path);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  /// Appends bytes; for example `Errc::io_error` "… No space left on device".
  [[nodiscard]] Result<void> write(const void* data, std::size_t size);
  [[nodiscard]] Result<void> write(std::string_view text) {
    return write(text.data(), text.size());
  }

  /// Puts the file in its place.
  [[nodiscard]] Result<void> commit();

private:
  AtomicFile(std::filesystem::path path, std::filesystem::path temporary, int handle);

  std::filesystem::path path_;
  std::filesystem::path temporary_;
  int handle_ = -1;
};

/// Writes a small text file in one go.
[[nodiscard]] Result<void> write_text_file(const std::filesystem::path& path,
                                           std::string_view text);

/// Reads a whole file of at most `limit` bytes.
/// @returns `Errc::io_error` naming the file and the reason
[[nodiscard]] Result<std::string> read_text_file(const std::filesystem::path& path,
                                                 std::size_t limit = 64 << 20);

} // namespace tinkaf::model
