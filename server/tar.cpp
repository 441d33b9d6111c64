// SPDX-License-Identifier: Apache-2.0
#include "server/tar.hpp"

#include "server/http/file_part.hpp"

#include <fmt/format.h>

#include <array>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <archive.h>
#include <archive_entry.h>

namespace tinkaf::server {

namespace fs = std::filesystem;

namespace {

struct Free {
  void operator()(archive* x) const noexcept {
    archive_write_free(x);
  }
  void operator()(archive_entry* x) const noexcept {
    archive_entry_free(x);
  }
};

class Tar {
public:
  Tar(fs::path path, Timestamp time)
      : path_(std::move(path)),
        time_(std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count()),
        archive_(archive_write_new()) {}

  Result<void> open() {
    // Plain entries wherever they do, longer ones only for files beyond 8 GiB.
    return outcome(archive_write_set_format_pax_restricted(archive_.get()) == ARCHIVE_OK
                   && archive_write_open_filename(archive_.get(), path_.c_str()) == ARCHIVE_OK);
  }

  Result<void> begin(const std::string& name, std::uint64_t size) {
    const std::unique_ptr<archive_entry, Free> entry{archive_entry_new()};
    archive_entry_set_pathname(entry.get(), name.c_str());
    archive_entry_set_filetype(entry.get(), AE_IFREG);
    archive_entry_set_perm(entry.get(), 0644);
    archive_entry_set_size(entry.get(), static_cast<la_int64_t>(size));
    archive_entry_set_mtime(entry.get(), static_cast<time_t>(time_), 0);
    return outcome(archive_write_header(archive_.get(), entry.get()) == ARCHIVE_OK);
  }

  Result<void> add(const fs::path& file) {
    const auto from = OpenFile::open(file);
    if (!from)
      return fail(from.error());
    if (auto begun = begin(file.filename().string(), (*from)->size()); !begun)
      return begun;
    std::uint64_t done = 0;
    while (done < (*from)->size()) {
      const auto count = (*from)->read(done, buffer_);
      if (count == 0)
        return fail(Errc::io_error, fmt::format("cannot read {} to its end", file.string()));
      if (archive_write_data(archive_.get(), buffer_.data(), count) < 0)
        return outcome(false);
      done += count;
    }
    return {};
  }

  Result<void> close() {
    return outcome(archive_write_close(archive_.get()) == ARCHIVE_OK);
  }

private:
  Result<void> outcome(bool good) {
    if (good)
      return {};
    const auto* why = archive_error_string(archive_.get());
    return fail(Errc::io_error, fmt::format("cannot write {}: {}", path_.string(),
                                            why != nullptr ? why : "unknown reason"));
  }

  fs::path path_;
  std::int64_t time_;
  std::unique_ptr<archive, Free> archive_;
  std::array<char, 65536> buffer_{};
};

template <class Files>
Result<void> pack(const Files& files, Timestamp time, const fs::path& archive, bool with_mark) {
  Tar tar{archive, time};
  auto done = tar.open();
  for (const auto& file : files)
    if (done)
      done = tar.add(file);
  if (done && with_mark)
    done = tar.begin("checkpoint_complete", 0);
  return done ? tar.close() : done;
}

} // namespace

Result<void> write_tar(const fs::path& folder, Timestamp time, const fs::path& archive) {
  std::set<fs::path> files;
  std::error_code error;
  for (auto it = fs::directory_iterator{folder, error}; !error && it != fs::directory_iterator{};
       it.increment(error))
    if (it->is_regular_file(error))
      files.insert(it->path());
  if (error)
    return fail(Errc::io_error,
                fmt::format("cannot read {}: {}", folder.string(), error.message()));
  return pack(files, time, archive, true);
}

Result<void> write_tar(std::span<const fs::path> files, Timestamp time, const fs::path& archive) {
  return pack(files, time, archive, false);
}

} // namespace tinkaf::server
