// SPDX-License-Identifier: Apache-2.0
#include "api/archive_unpack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <unistd.h>

namespace tinkaf {

namespace {

namespace fs = std::filesystem;

struct Closer {
  void operator()(struct archive* x) const noexcept {
    archive_read_free(x);
  }
};

using Reader = std::unique_ptr<struct archive, Closer>;

constexpr std::size_t block_size = 256 * 1024;

auto refuse(std::string_view name, std::string_view why) {
  return fail(Errc::protocol_error, fmt::format("the archive's entry `{}` {}", name, why));
}

auto unreadable(struct archive* reader) {
  const auto* text = archive_error_string(reader);
  return fail(Errc::protocol_error, fmt::format("the archive is damaged: {}",
                                                text != nullptr ? text : "no reason known"));
}

/// The path of an entry below the folder; nothing for the folder itself.
Result<fs::path> safe_path(const char* name) {
  if (name == nullptr || *name == '\0')
    return refuse("", "has no readable name");
  if (*name == '/')
    return refuse(name, "has an absolute path");
  fs::path path;
  for (const auto& part : fs::path{name}) {
    if (part == "..")
      return refuse(name, "leads out of the folder");
    if (!part.empty() && part != ".")
      path /= part;
  }
  return path;
}

/// A file that is being written.
class OutputFile {
public:
  explicit OutputFile(const fs::path& path)
      : path_(path),
        descriptor_(
            ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644)) {}

  ~OutputFile() {
    if (descriptor_ >= 0)
      ::close(descriptor_);
  }

  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  [[nodiscard]] bool is_open() const noexcept {
    return descriptor_ >= 0;
  }

  Result<void> write(const char* data, std::size_t size, std::int64_t offset) const {
    while (size > 0) {
      auto written = ::pwrite(descriptor_, data, size, static_cast<off_t>(offset));
      if (written < 0 && errno == EINTR)
        continue;
      if (written < 0)
        return failure();
      data += written;
      size -= static_cast<std::size_t>(written);
      offset += written;
    }
    return {};
  }

  /// Gives the file its size, should it end with a hole; reports what the disk did not take.
  Result<void> finish(std::int64_t size) {
    auto good = ::ftruncate(descriptor_, static_cast<off_t>(size)) == 0;
    good = ::close(descriptor_) == 0 && good;
    descriptor_ = -1;
    return good ? Result<void>{} : failure();
  }

  [[nodiscard]] Result<void> failure() const {
    return fail(Errc::io_error,
                fmt::format("`{}` cannot be written: {}", path_.string(), std::strerror(errno)));
  }

private:
  fs::path path_;
  int descriptor_;
};

class Unpacker {
public:
  Unpacker(Reader reader, fs::path folder, const UnpackLimits& limits, const std::stop_token& stop)
      : reader_(std::move(reader)), folder_(std::move(folder)), limits_(limits), stop_(stop) {}

  Result<Unpacked> run() {
    struct archive_entry* entry = nullptr;
    while (true) {
      auto status = archive_read_next_header(reader_.get(), &entry);
      if (status == ARCHIVE_EOF)
        break;
      if (status != ARCHIVE_OK && status != ARCHIVE_WARN)
        return unreadable(reader_.get());
      if (++entries_ > limits_.max_entries)
        return fail(Errc::protocol_error,
                    fmt::format("the archive has more than {} entries", limits_.max_entries));
      if (auto taken = take(entry); !taken)
        return fail(std::move(taken.error()));
    }
    if (done_.files == 0)
      return fail(Errc::protocol_error, "the archive holds no file");
    return done_;
  }

private:
  Result<void> take(struct archive_entry* entry) {
    auto path = safe_path(archive_entry_pathname(entry));
    if (!path)
      return fail(std::move(path.error()));
    const auto* name = archive_entry_pathname(entry);
    if (archive_entry_hardlink(entry) != nullptr || archive_entry_symlink(entry) != nullptr)
      return refuse(name, "is a link");
    switch (archive_entry_filetype(entry)) {
    case AE_IFDIR:
      return make_folder(*path, name);
    case AE_IFREG:
      return path->empty() ? refuse(name, "has no readable name") : make_file(*path, name, entry);
    default:
      return refuse(name, "is neither a file nor a folder");
    }
  }

  Result<void> make_folder(const fs::path& path, const char* name) {
    std::error_code error;
    fs::create_directories(folder_ / path, error);
    if (error && error != std::errc::not_a_directory && error != std::errc::file_exists)
      return fail(Errc::io_error, fmt::format("folder `{}` cannot be made: {}",
                                              (folder_ / path).string(), error.message()));
    if (error)
      return refuse(name, "lies below one that is a file");
    return {};
  }

  Result<void> make_file(const fs::path& path, const char* name, struct archive_entry* entry) {
    if (auto size = archive_entry_size(entry); size > limits_.max_entry_bytes)
      return refuse(name, fmt::format("has {} bytes, more than the {} that are taken", size,
                                      limits_.max_entry_bytes));
    if (auto made = make_folder(path.parent_path(), name); !made)
      return made;
    OutputFile file{folder_ / path};
    if (!file.is_open())
      return errno == EEXIST ? refuse(name, "comes twice") : file.failure();
    return copy(file, name);
  }

  Result<void> copy(OutputFile& file, const char* name) {
    std::int64_t end = 0;
    while (true) {
      if (stop_.stop_requested())
        return fail(Errc::cancelled, "unpacking was given up");
      const void* data = nullptr;
      std::size_t size = 0;
      la_int64_t offset = 0;
      auto status = archive_read_data_block(reader_.get(), &data, &size, &offset);
      if (status == ARCHIVE_EOF)
        break;
      if (status != ARCHIVE_OK)
        return unreadable(reader_.get());
      auto next = offset + static_cast<std::int64_t>(size);
      if (next > limits_.max_entry_bytes || done_.bytes + next > limits_.max_total_bytes)
        return refuse(name, "makes the archive larger than what is taken");
      if (auto written = file.write(static_cast<const char*>(data), size, offset); !written)
        return written;
      end = std::max(end, next);
    }
    ++done_.files;
    done_.bytes += end;
    return file.finish(end);
  }

  Reader reader_;
  fs::path folder_;
  const UnpackLimits& limits_;
  const std::stop_token& stop_;
  std::size_t entries_ = 0;
  Unpacked done_;
};

} // namespace

Result<Unpacked> unpack_archive(const fs::path& archive, const fs::path& folder,
                                const UnpackLimits& limits, const std::stop_token& stop) {
  Reader reader{archive_read_new()};
  if (!reader || archive_read_support_filter_gzip(reader.get()) != ARCHIVE_OK
      || archive_read_support_format_tar(reader.get()) != ARCHIVE_OK)
    return fail(Errc::internal, "libarchive cannot be started");
  if (archive_read_open_filename(reader.get(), archive.c_str(), block_size) != ARCHIVE_OK)
    return unreadable(reader.get());
  return Unpacker{std::move(reader), folder, limits, stop}.run();
}

} // namespace tinkaf
