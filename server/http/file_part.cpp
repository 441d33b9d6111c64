// SPDX-License-Identifier: Apache-2.0
#include "server/http/file_part.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tinkaf::server {

Result<std::shared_ptr<const OpenFile>> OpenFile::open(const std::filesystem::path& path) {
  const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat about {};
  if (handle < 0 || ::fstat(handle, &about) != 0) {
    const std::error_code why{errno, std::generic_category()};
    if (handle >= 0)
      ::close(handle);
    return fail(Errc::io_error, fmt::format("cannot open {}: {}", path.string(), why.message()));
  }
  return std::shared_ptr<const OpenFile>{
      new OpenFile{handle, static_cast<std::uint64_t>(about.st_size)}};
}

OpenFile::~OpenFile() {
  ::close(handle_);
}

std::size_t OpenFile::read(std::uint64_t offset, std::span<char> into) const noexcept {
  while (true) {
    const auto count = ::pread(handle_, into.data(), into.size(), static_cast<off_t>(offset));
    if (count >= 0)
      return static_cast<std::size_t>(count);
    if (errno != EINTR)
      return 0;
  }
}

} // namespace tinkaf::server
