// SPDX-License-Identifier: Apache-2.0
#include "api/checkpoint_folder.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <stdlib.h>

namespace tinkaf {

namespace {

namespace fs = std::filesystem;

/// A folder that is removed with all that is in it, and so are those around it that were made for
/// it and hold nothing else.
class WorkFolder {
public:
  /// @param parent made if it is not there
  static Result<std::unique_ptr<WorkFolder>> make(const fs::path& parent) {
    std::error_code error;
    auto folder = std::make_unique<WorkFolder>();
    for (auto above = parent; above.has_relative_path() && !fs::exists(above, error);
         above = above.parent_path())
      folder->made_.push_back(above);
    fs::create_directories(parent, error);
    if (error)
      return fail(Errc::io_error,
                  fmt::format("folder `{}` cannot be made: {}", parent.string(), error.message()));
    auto name = (parent / ".tinkaf-download-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      return fail(Errc::io_error, fmt::format("no folder can be made in `{}`: {}", parent.string(),
                                              std::strerror(errno)));
    folder->path_ = name;
    return folder;
  }

  WorkFolder() = default;

  ~WorkFolder() {
    std::error_code ignored;
    if (!path_.empty())
      fs::remove_all(path_, ignored);
    for (const auto& above : made_)
      fs::remove(above, ignored); // fails, as it should, if anything is in it
  }

  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  [[nodiscard]] const fs::path& path() const noexcept {
    return path_;
  }

private:
  fs::path path_;

  /// The innermost first.
  std::vector<fs::path> made_;
};

Result<void> check_destination(const fs::path& destination, bool force) {
  if (destination.filename().empty() || destination.filename() == "."
      || destination.filename() == "..")
    return fail(Errc::invalid_argument,
                fmt::format("destination `{}` does not name a folder", destination.string()));
  std::error_code error;
  auto status = fs::symlink_status(destination, error);
  if (status.type() == fs::file_type::not_found)
    return {};
  if (status.type() != fs::file_type::directory)
    return fail(Errc::invalid_argument,
                fmt::format("destination `{}` is there and no folder", destination.string()));
  if (!force)
    return fail(
        Errc::invalid_argument,
        fmt::format("destination `{}` is there already; force replaces it", destination.string()));
  return {};
}

Result<void> move(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error)
    return fail(Errc::io_error,
                fmt::format("`{}` cannot take its place: {}", to.string(), error.message()));
  return {};
}

/// Lets `content` take the destination's place; an old folder goes to `old` or stays.
Result<void> take_place(const fs::path& content, const fs::path& destination, const fs::path& old,
                        bool force) {
  if (auto checked = check_destination(destination, force); !checked)
    return checked;
  std::error_code error;
  auto replaces = fs::exists(destination, error);
  if (replaces)
    if (auto moved = move(destination, old); !moved)
      return moved;
  auto moved = move(content, destination);
  if (!moved && replaces)
    if (auto back = move(old, destination); !back)
      return back;
  return moved;
}

} // namespace

Result<DownloadedCheckpoint> download_checkpoint(HttpClient& client, const ArchiveUrlSource& source,
                                                 const DownloadCheckpoint& request,
                                                 const ArchiveDownloadOptions& options,
                                                 const UnpackLimits& limits,
                                                 const std::stop_token& stop) {
  auto destination = request.destination.lexically_normal();
  if (!destination.has_filename())
    destination = destination.parent_path(); // it was written with a slash at its end
  if (auto checked = check_destination(destination, request.force); !checked)
    return fail(std::move(checked.error()));
  auto work = WorkFolder::make(fs::absolute(destination).parent_path());
  if (!work)
    return fail(std::move(work.error()));
  auto archive = (*work)->path() / "archive";
  auto content = (*work)->path() / "content";
  std::error_code error;
  if (!fs::create_directory(content, error))
    return fail(Errc::io_error,
                fmt::format("folder `{}` cannot be made: {}", content.string(), error.message()));
  auto size = download_archive(client, source, archive, options, stop);
  if (!size)
    return fail(std::move(size.error()));
  auto unpacked = unpack_archive(archive, content, limits, stop);
  if (!unpacked)
    return fail(std::move(unpacked.error()));
  if (auto placed = take_place(content, destination, (*work)->path() / "old", request.force);
      !placed)
    return fail(std::move(placed.error()));
  return DownloadedCheckpoint{request.destination, *size, unpacked->files, unpacked->bytes};
}

} // namespace tinkaf
