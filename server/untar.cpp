// SPDX-License-Identifier: Apache-2.0
#include "server/untar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <set>

#include <archive.h>
#include <archive_entry.h>

namespace tinkaf::server {

namespace fs = std::filesystem;

namespace {

struct Free {
  void operator()(archive* x) const noexcept {
    archive_read_free(x);
  }
};

tl::unexpected<Error> bad(std::string_view why) {
  return fail(Errc::invalid_argument, fmt::format("the body is no usable tar: {}", why));
}

/// The wanted name that an entry has, at the top or in one folder; empty if none.
std::string wanted_name(std::string_view path, std::span<const std::string> names) {
  auto rest = path;
  while (rest.starts_with("./"))
    rest.remove_prefix(2);
  if (const auto slash = rest.find('/'); slash != std::string_view::npos)
    rest.remove_prefix(slash + 1);
  const auto found = std::find(names.begin(), names.end(), rest);
  return found == names.end() ? std::string{} : *found;
}

/// What is wrong with an entry that no honest program writes, or nothing.
std::string suspicion(archive_entry* entry) {
  const auto* path = archive_entry_pathname(entry);
  if (path == nullptr)
    return "it has an entry without a name";
  const auto parts = fs::path{path};
  if (parts.is_absolute() || std::find(parts.begin(), parts.end(), "..") != parts.end())
    return fmt::format("its entry {} leads out of it", path);
  const auto type = archive_entry_filetype(entry);
  if (archive_entry_hardlink(entry) != nullptr || (type != AE_IFREG && type != AE_IFDIR))
    return fmt::format("its entry {} is neither a file nor a folder", path);
  return {};
}

} // namespace

Result<void> untar(std::string_view tar, std::span<const std::string> names, std::size_t most,
                   const fs::path& folder) {
  const std::unique_ptr<archive, Free> reader{archive_read_new()};
  archive_read_support_format_tar(reader.get());
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_filter_zstd(reader.get());
  if (archive_read_open_memory(reader.get(), tar.data(), tar.size()) != ARCHIVE_OK)
    return bad(archive_error_string(reader.get()));
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return fail(Errc::io_error,
                fmt::format("cannot make {}: {}", folder.string(), error.message()));
  std::set<std::string> seen;
  std::size_t left = most;
  archive_entry* entry = nullptr;
  int status = ARCHIVE_OK;
  while ((status = archive_read_next_header(reader.get(), &entry)) == ARCHIVE_OK) {
    if (const auto reason = suspicion(entry); !reason.empty())
      return bad(reason);
    const auto name = wanted_name(archive_entry_pathname(entry), names);
    if (name.empty() || archive_entry_filetype(entry) != AE_IFREG)
      continue;
    if (!seen.insert(name).second)
      return bad(fmt::format("it holds {} twice", name));
    auto file = std::ofstream{folder / name, std::ios::binary};
    std::array<char, 65536> piece{};
    la_ssize_t count = 0;
    while ((count = archive_read_data(reader.get(), piece.data(), piece.size())) > 0) {
      if (static_cast<std::size_t>(count) > left)
        return bad(fmt::format("its files are larger than {} bytes, which is the most that this "
                               "server takes",
                               most));
      left -= static_cast<std::size_t>(count);
      file.write(piece.data(), count);
    }
    if (count < 0)
      return bad(archive_error_string(reader.get()));
    file.close();
    if (!file)
      return fail(Errc::io_error, fmt::format("cannot write {}", (folder / name).string()));
  }
  if (status != ARCHIVE_EOF)
    return bad(archive_error_string(reader.get()));
  for (const auto& name : names)
    if (!seen.contains(name))
      return bad(fmt::format("it holds no {}", name));
  return {};
}

} // namespace tinkaf::server
