// SPDX-License-Identifier: Apache-2.0
#include "server/journal/record_log.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include <zlib.h>

namespace tinkaf::server {

namespace fs = std::filesystem;

namespace {

/// A record in the file: this, then note and bytes. All numbers as the machine has them.
struct Head {
  std::uint32_t kind = 0;
  std::uint32_t note_size = 0;
  std::uint32_t bytes_size = 0;
  std::uint32_t body_sum = 0; // of note and bytes
  std::uint32_t head_sum = 0; // of all above
};
static_assert(sizeof(Head) == 20);

std::uint32_t checksum(std::string_view bytes, std::uint32_t before = 0) {
  if (bytes.empty())
    return before;
  return static_cast<std::uint32_t>(
      ::crc32_z(before, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

std::uint32_t sum_of(const Head& head) {
  // Not that of zeros, so that an empty stretch is no record.
  return checksum({reinterpret_cast<const char*>(&head), offsetof(Head, head_sum)}, 1);
}

Head head_of(const Record& record) {
  Head head{.kind = record.kind,
            .note_size = static_cast<std::uint32_t>(record.note.size()),
            .bytes_size = static_cast<std::uint32_t>(record.bytes.size()),
            .body_sum = checksum(record.bytes, checksum(record.note))};
  head.head_sum = sum_of(head);
  return head;
}

tl::unexpected<Error> failed(const char* what, const fs::path& path, int reason) {
  return fail(Errc::io_error,
              fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(reason)));
}

/// Closes a file that is read or written for a while.
class File {
public:
  explicit File(int handle) : handle_(handle) {}
  ~File() {
    if (handle_ >= 0)
      ::close(handle_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  [[nodiscard]] int handle() const noexcept {
    return handle_;
  }

private:
  int handle_;
};

/// Reads up to `size` bytes; fewer at the end of the file, nothing on an error.
std::optional<std::size_t> read_at(int file, char* to, std::size_t size, std::uint64_t offset) {
  std::size_t got = 0;
  while (got < size) {
    const auto n = ::pread(file, to + got, size - got, static_cast<off_t>(offset + got));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return std::nullopt;
    if (n == 0)
      break;
    got += static_cast<std::size_t>(n);
  }
  return got;
}

/// Writes all or fails with the reason in errno.
bool write_all(int file, const Record& record) {
  auto head = head_of(record);
  std::array<iovec, 3> parts{{{&head, sizeof head},
                              {const_cast<char*>(record.note.data()), record.note.size()},
                              {const_cast<char*>(record.bytes.data()), record.bytes.size()}}};
  auto* part = parts.data();
  auto* const end = part + parts.size();
  while (part != end) {
    auto n = ::writev(file, part, static_cast<int>(end - part));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return false;
    while (part != end && static_cast<std::size_t>(n) >= part->iov_len)
      n -= static_cast<ssize_t>((part++)->iov_len);
    if (part != end) {
      part->iov_base = static_cast<char*>(part->iov_base) + n;
      part->iov_len -= static_cast<std::size_t>(n);
    }
  }
  return true;
}

/// Whether nothing but zeros follows, as a system that went down may leave it.
bool only_zeros(int file, std::uint64_t from, std::uint64_t to) {
  std::array<char, 4096> piece{};
  while (from < to) {
    const auto got = read_at(file, piece.data(), piece.size(), from);
    if (!got || *got == 0)
      return true;
    for (std::size_t i = 0; i < *got; ++i)
      if (piece[i] != 0)
        return false;
    from += *got;
  }
  return true;
}

/// Shows the records between two places of a file.
Result<LogCondition> scan(int file, const fs::path& path, std::uint64_t size,
                          const RecordLog::Visit& visit) {
  LogCondition out;
  const auto damaged = [&](std::string_view what) {
    if (!out.damage)
      out.damage = fmt::format("{} at byte {} of {}", what, out.end, path.filename().string());
  };
  std::string body;
  while (out.end < size) {
    Head head;
    const auto got = read_at(file, reinterpret_cast<char*>(&head), sizeof head, out.end);
    if (!got)
      return failed("read", path, errno);
    if (*got < sizeof head || (head.head_sum == 0 && only_zeros(file, out.end, size))) {
      out.torn = true;
      return out;
    }
    if (head.head_sum != sum_of(head)) {
      damaged("no record begins");
      return out; // nobody knows where the next one does
    }
    const std::uint64_t length = std::uint64_t{head.note_size} + head.bytes_size;
    if (out.end + sizeof head + length > size) {
      out.torn = true;
      return out;
    }
    body.resize(length);
    const auto read = read_at(file, body.data(), length, out.end + sizeof head);
    if (!read || *read < length)
      return failed("read", path, errno);
    if (checksum(body) != head.body_sum)
      damaged("a record with a wrong checksum");
    else
      visit({static_cast<std::uint8_t>(head.kind), std::string_view{body}.substr(0, head.note_size),
             std::string_view{body}.substr(head.note_size)});
    out.end += sizeof head + length;
  }
  return out;
}

} // namespace

RecordLog::RecordLog(fs::path path, DiskFull full)
    : path_(std::move(path)), full_(std::move(full)) {
  std::error_code none;
  const auto there = fs::file_size(path_, none);
  size_ = none ? 0 : there;
}

Result<LogCondition> RecordLog::read(const Visit& visit) const {
  const File file{::open(path_.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.handle() < 0)
    return errno == ENOENT ? Result<LogCondition>{LogCondition{}} : failed("read", path_, errno);
  return scan(file.handle(), path_, size(), visit);
}

Result<void> RecordLog::trim(const LogCondition& condition) {
  if (!condition.torn)
    return {};
  const std::lock_guard lock{mutex_};
  if (::truncate(path_.c_str(), static_cast<off_t>(condition.end)) != 0)
    return failed("write", path_, errno);
  size_ = condition.end;
  return {};
}

Result<void> RecordLog::append(const Record& record) {
  const std::lock_guard lock{mutex_};
  if (full_ && full_())
    return failed("write", path_, ENOSPC);
  const File file{::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)};
  if (file.handle() < 0)
    return failed("write", path_, errno);
  // What was written of a record that failed must go, or the next one would follow a torn one.
  const auto cut = [&] { return ::ftruncate(file.handle(), static_cast<off_t>(size_)) == 0; };
  if (torn_ && !cut())
    return failed("write", path_, errno);
  torn_ = false;
  if (!write_all(file.handle(), record)) {
    const int reason = errno;
    torn_ = !cut();
    return failed("write", path_, reason);
  }
  size_ += sizeof(Head) + record.note.size() + record.bytes.size();
  return {};
}

Result<void>
RecordLog::rewrite(const Record* first,
                   const std::function<void(const Record&, const Visit& write)>& filter) {
  const std::lock_guard one_at_a_time{rewriting_};
  auto filling = path_;
  filling += ".new";
  const File to{::open(filling.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600)};
  if (to.handle() < 0)
    return failed("write", filling, errno);
  const File from{::open(path_.c_str(), O_RDONLY | O_CLOEXEC)};
  if (from.handle() < 0)
    return failed("read", path_, errno);
  const auto give_up = [&](const char* what, int reason) {
    ::unlink(filling.c_str());
    return failed(what, filling, reason);
  };
  int reason = full_ && full_() ? ENOSPC : 0;
  std::uint64_t written = 0;
  const Visit write = [&](const Record& record) {
    if (reason == 0 && !write_all(to.handle(), record))
      reason = errno;
    written += sizeof(Head) + record.note.size() + record.bytes.size();
  };
  if (first != nullptr)
    write(*first);
  auto done
      = scan(from.handle(), path_, size(), [&](const Record& record) { filter(record, write); });
  if (!done || reason != 0)
    return give_up("write", reason);
  if (done->damage || done->torn) {
    ::unlink(filling.c_str());
    return fail(Errc::io_error, done->damage.value_or("the log is cut off"));
  }
  if (::fsync(to.handle()) != 0)
    return give_up("write", errno);
  const std::lock_guard lock{mutex_};
  std::vector<char> tail(size_ - done->end); // what came meanwhile
  const auto got = read_at(from.handle(), tail.data(), tail.size(), done->end);
  if (!got || *got < tail.size())
    return give_up("read", errno);
  for (std::size_t at = 0; at < tail.size();) {
    const auto n = ::write(to.handle(), tail.data() + at, tail.size() - at);
    if (n < 0 && errno != EINTR)
      return give_up("write", errno);
    at += n < 0 ? 0 : static_cast<std::size_t>(n);
  }
  if (::rename(filling.c_str(), path_.c_str()) != 0)
    return give_up("write", errno);
  size_ = written + tail.size();
  return {};
}

std::uint64_t RecordLog::size() const {
  const std::lock_guard lock{mutex_};
  return size_;
}

} // namespace tinkaf::server
