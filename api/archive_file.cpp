// SPDX-License-Identifier: Apache-2.0
#include "api/archive_file.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace tinkaf {

namespace {

/// Bytes between two reports of progress.
constexpr std::int64_t report_every = std::int64_t{1} << 20U;

std::optional<std::int64_t> number(std::string_view text) noexcept {
  std::int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size() || value < 0)
    return std::nullopt;
  return value;
}

struct ContentRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::optional<std::int64_t> total;
};

/// Reads `bytes <first>-<last>/<total or *>`.
std::optional<ContentRange> parse_content_range(std::string_view text) noexcept {
  constexpr std::string_view unit = "bytes ";
  auto dash = text.find('-');
  auto slash = text.find('/');
  if (!text.starts_with(unit) || dash == std::string_view::npos || slash == std::string_view::npos
      || dash > slash)
    return std::nullopt;
  auto first = number(text.substr(unit.size(), dash - unit.size()));
  auto last = number(text.substr(dash + 1, slash - dash - 1));
  auto size = text.substr(slash + 1);
  auto total = number(size);
  if (!first || !last || *last < *first || (total ? *total <= *last : size != "*"))
    return std::nullopt;
  return ContentRange{*first, *last, total};
}

/// What `If-Range` may hold: an entity tag that is not weak, else a date.
std::string validator_of(const HttpResponse& head) {
  const auto* tag = head.header("etag");
  if (tag != nullptr && tag->starts_with('"'))
    return *tag;
  const auto* date = head.header("last-modified");
  return tag == nullptr && date != nullptr ? *date : std::string{};
}

auto cannot_write(const std::filesystem::path& path) {
  return fail(Errc::io_error,
              fmt::format("`{}` cannot be written: {}", path.string(), std::strerror(errno)));
}

} // namespace

Result<std::shared_ptr<ArchiveFile>> ArchiveFile::create(const std::filesystem::path& path,
                                                         std::int64_t max_bytes,
                                                         DownloadProgressSink progress) {
  constexpr auto owner_only = 0600;
  auto descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, owner_only);
  if (descriptor < 0)
    return cannot_write(path);
  auto file = std::make_shared<ArchiveFile>(descriptor);
  file->path_ = path;
  file->max_bytes_ = max_bytes;
  file->progress_ = std::move(progress);
  return file;
}

ArchiveFile::~ArchiveFile() {
  ::close(descriptor_);
}

HttpHeaders ArchiveFile::range_headers() const {
  if (size_ == 0 || validator_.empty())
    return {};
  return {{"Range", fmt::format("bytes={}-", size_)}, {"If-Range", validator_}};
}

Result<void> ArchiveFile::restart() {
  if (::ftruncate(descriptor_, 0) != 0 || ::lseek(descriptor_, 0, SEEK_SET) != 0)
    return cannot_write(path_);
  size_ = 0;
  reported_ = 0;
  total_.reset();
  validator_.clear();
  return {};
}

Result<void> ArchiveFile::begin(const HttpResponse& head) {
  auto begun = head.status == 206 ? begin_rest(head) : begin_afresh(head);
  if (begun)
    report();
  return begun;
}

Result<void> ArchiveFile::begin_afresh(const HttpResponse& head) {
  if (auto restarted = restart(); !restarted)
    return restarted;
  validator_ = validator_of(head);
  if (const auto* length = head.header("content-length"))
    total_ = number(*length);
  return check_size(total_.value_or(0));
}

Result<void> ArchiveFile::begin_rest(const HttpResponse& head) {
  const auto* text = head.header("content-range");
  auto range = text ? parse_content_range(*text) : std::nullopt;
  auto fits = range && size_ > 0 && range->first == size_
              && (!total_ || !range->total || *total_ == *range->total);
  if (!fits) {
    // Whatever the server thinks of: the next try asks for the whole.
    validator_.clear();
    return fail(Errc::connection, "the server's answer is no continuation of what has come");
  }
  if (range->total)
    total_ = range->total;
  return check_size(total_.value_or(0));
}

Result<void> ArchiveFile::check_size(std::int64_t size) const {
  if (size > max_bytes_)
    return fail(
        Errc::invalid_argument,
        fmt::format("the archive has more than {} bytes, the most that are taken", max_bytes_));
  return {};
}

Result<void> ArchiveFile::write(std::string_view bytes) {
  auto count = static_cast<std::int64_t>(bytes.size());
  if (auto checked = check_size(size_ + count); !checked)
    return checked;
  while (!bytes.empty()) {
    auto written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return cannot_write(path_);
    bytes.remove_prefix(static_cast<std::size_t>(written));
    size_ += written;
  }
  if (size_ - reported_ >= report_every || size_ == total_)
    report();
  return {};
}

void ArchiveFile::report() {
  reported_ = size_;
  if (progress_)
    progress_({size_, total_});
}

} // namespace tinkaf
