// SPDX-License-Identifier: Apache-2.0
#include "server/model/atomic_file.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace tinkaf::model {

namespace {

tl::unexpected<Error> failed(const char* what, const std::filesystem::path& path, int reason) {
  return fail(Errc::io_error,
              fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(reason)));
}

std::atomic<unsigned> temporaries{0};

} // namespace

AtomicFile::AtomicFile(std::filesystem::path path, std::filesystem::path temporary, int handle)
    : path_(std::move(path)), temporary_(std::move(temporary)), handle_(handle) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::move(other.temporary_)),
      handle_(std::exchange(other.handle_, -1)) {}

AtomicFile::~AtomicFile() {
  if (handle_ < 0)
    return;
  ::close(handle_);
  ::unlink(temporary_.c_str());
}

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& path) {
  auto temporary = path;
  temporary += fmt::format(".tmp-{}-{}", ::getpid(), temporaries.fetch_add(1));
  const int handle = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (handle < 0)
    return failed("write", path, errno);
  return AtomicFile{path, std::move(temporary), handle};
}

Result<void> AtomicFile::write(const void* data, std::size_t size) {
  const auto* at = static_cast<const char*>(data);
  while (size > 0) {
    const auto n = ::write(handle_, at, size);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return failed("write", path_, errno);
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return {};
}

Result<void> AtomicFile::commit() {
  if (::fsync(handle_) != 0)
    return failed("write", path_, errno);
  const int handle = std::exchange(handle_, -1);
  if (::close(handle) != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0) {
    const int reason = errno;
    ::unlink(temporary_.c_str());
    return failed("write", path_, reason);
  }
  return {};
}

Result<void> write_text_file(const std::filesystem::path& path, std::string_view text) {
  auto file = AtomicFile::create(path);
  if (!file)
    return fail(file.error());
  if (auto done = file->write(text); !done)
    return done;
  return file->commit();
}

Result<std::string> read_text_file(const std::filesystem::path& path, std::size_t limit) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error)
    return fail(Errc::io_error, fmt::format("cannot read {}: {}", path.string(), error.message()));
  if (size > limit)
    return fail(Errc::io_error, fmt::format("cannot read {}: {} bytes, more than the {} expected",
                                            path.string(), size, limit));
  std::string text(size, '\0');
  std::ifstream in{path, std::ios::binary};
  if (!in.read(text.data(), static_cast<std::streamsize>(size)))
    return failed("read", path, errno);
  return text;
}

} // namespace tinkaf::model
