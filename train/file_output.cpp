// SPDX-License-Identifier: Apache-2.0
#include "train/file_output.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tinkaf::train {

namespace {

tl::unexpected<Error> cannot(const char* what, const std::filesystem::path& file, int reason) {
  return fail(Errc::io_error,
              fmt::format("cannot {} {}: {}", what, file.string(), std::strerror(reason)));
}

/// Writes all of `text`; 0 or the reason why not.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

/// Where the last whole line ends, or -1 with `errno` set.
std::int64_t end_of_whole_lines(int fd, std::int64_t size) {
  char last = '\n';
  while (size > 0) {
    if (::pread(fd, &last, 1, size - 1) != 1)
      return -1;
    if (last == '\n')
      break;
    --size;
  }
  return size;
}

} // namespace

void sync_folder(const std::filesystem::path& folder) {
  const auto fd = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  if (fd < 0)
    return;
  ::fsync(fd);
  ::close(fd);
}

Result<void> write_file(const std::filesystem::path& file, std::string_view content) {
  // The same name each time, so that what a crash leaves behind is written over by the next try.
  const auto temporary = file.string() + ".new";
  const auto fd
      = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd < 0)
    return cannot("create", temporary, errno);
  auto reason = write_all(fd, content);
  if (reason == 0 && ::fsync(fd) != 0)
    reason = errno;
  if (::close(fd) != 0 && reason == 0)
    reason = errno;
  if (reason == 0 && ::rename(temporary.c_str(), file.c_str()) != 0)
    reason = errno;
  if (reason != 0) {
    ::unlink(temporary.c_str());
    return cannot("write", file, reason);
  }
  sync_folder(file.parent_path());
  return {};
}

Result<LineFile> LineFile::open(const std::filesystem::path& file) {
  const auto fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0)
    return cannot("open", file, errno);
  struct stat info = {};
  if (::fstat(fd, &info) != 0) {
    const auto reason = errno;
    ::close(fd);
    return cannot("open", file, reason);
  }
  auto result = LineFile{fd, info.st_size, file};
  if (!S_ISREG(info.st_mode))
    return result;
  const auto whole = end_of_whole_lines(fd, info.st_size);
  if (whole < 0)
    return cannot("read", file, errno);
  if (whole != info.st_size && ::ftruncate(fd, whole) != 0)
    return cannot("repair the end of", file, errno);
  result.size_ = whole;
  return result;
}

LineFile::LineFile(int fd, std::int64_t size, std::filesystem::path file)
    : fd_(fd), size_(size), file_(std::move(file)) {}

LineFile::LineFile(LineFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), size_(other.size_), file_(std::move(other.file_)),
      folder_synced_(other.folder_synced_) {}

LineFile& LineFile::operator=(LineFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  std::swap(file_, other.file_);
  std::swap(folder_synced_, other.folder_synced_);
  return *this;
}

LineFile::~LineFile() {
  if (fd_ >= 0)
    ::close(fd_);
}

Result<void> LineFile::append(std::string_view line) {
  auto text = std::string{line};
  text += '\n';
  if (const auto reason = write_all(fd_, text); reason != 0) {
    // A full disk still lets go of what was written last; if not, the reader skips the torn line.
    [[maybe_unused]] const auto cut = ::ftruncate(fd_, size_);
    return cannot("write", file_, reason);
  }
  size_ += static_cast<std::int64_t>(text.size());
  return {};
}

Result<void> LineFile::sync() {
  if (::fsync(fd_) != 0 && errno != EINVAL)
    return cannot("write", file_, errno);
  if (!std::exchange(folder_synced_, true))
    sync_folder(file_.parent_path());
  return {};
}

} // namespace tinkaf::train
