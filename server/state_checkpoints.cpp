// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json_time.hpp"
#include "server/ids.hpp"
#include "server/model/atomic_file.hpp"
#include "server/state_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

// The checkpoints of a state folder.

namespace tinkaf::server {

namespace fs = std::filesystem;

namespace {

constexpr const char* note_name = "checkpoint.json";

/// How long it can be told of a checkpoint that it has expired.
constexpr auto note_life = std::chrono::days{30};

tl::unexpected<Error> cannot(const char* what, const fs::path& path, const std::error_code& why) {
  return fail(Errc::io_error, fmt::format("cannot {} {}: {}", what, path.string(), why.message()));
}

tl::unexpected<Error> missing(const TinkerPath& path, std::string_view why) {
  return fail(Errc::not_found, fmt::format("path: the checkpoint {} {}", path.str(), why));
}

/// Puts a folder in its place. If there is one, they change places, so that there is a whole one
/// at any moment.
std::error_code move_into_place(const fs::path& from, const fs::path& to) {
  std::error_code error;
  if (fs::exists(to, error)) {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0)
      return {};
    fs::remove_all(to, error); // a file system that cannot exchange
  }
  if (!error)
    fs::rename(from, to, error);
  return error;
}

/// Waits until the names in a folder are on the disk; one that cannot be synced is no reason to
/// fail.
void sync_names(const fs::path& folder) {
  const auto handle = ::open(folder.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY);
  if (handle < 0)
    return;
  ::fsync(handle);
  ::close(handle);
}

struct Removal {
  ~Removal() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  const fs::path& path;
};

constexpr auto all_kinds
    = std::array{CheckpointKind::training, CheckpointKind::sampler, CheckpointKind::external};

/// Everything in a checkpoint's folder but its note.
std::vector<fs::directory_entry> weights_in(const fs::path& folder, std::error_code& error) {
  std::vector<fs::directory_entry> out;
  for (auto it = fs::directory_iterator{folder, error}; !error && it != fs::directory_iterator{};
       it.increment(error))
    if (it->path().filename() != note_name)
      out.push_back(*it);
  return out;
}

/// Makes a second name for each file, or a copy where the file system cannot.
std::error_code link_files(const fs::path& from, const fs::path& to) {
  std::error_code error;
  const auto files = weights_in(from, error);
  if (!error)
    fs::create_directories(to, error);
  for (const auto& file : files) {
    if (error)
      break;
    std::error_code no_link;
    fs::create_hard_link(file.path(), to / file.path().filename(), no_link);
    if (no_link)
      fs::copy(file.path(), to / file.path().filename(), error);
  }
  return error;
}

std::int64_t size_of(const fs::path& folder) {
  std::int64_t out = 0;
  std::error_code error;
  for (const auto& file : weights_in(folder, error)) {
    std::error_code unknown;
    if (const auto size = file.file_size(unknown); !unknown)
      out += static_cast<std::int64_t>(size);
  }
  return out;
}

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> out;
  std::error_code error;
  for (auto it = fs::directory_iterator{folder, error}; !error && it != fs::directory_iterator{};
       it.increment(error))
    out.push_back(it->path().filename().string());
  return out;
}

} // namespace

template <wire::JsonVisitor V>
void describe(V& v, wire::Visited<V, CheckpointInfo>& x) {
  v.field("base_model", x.base_model);
  v.field("lora_rank", x.lora_config.rank);
  v.field("train_unembed", x.lora_config.train_unembed);
  v.field("train_mlp", x.lora_config.train_mlp);
  v.field("train_attn", x.lora_config.train_attn);
  wire::visit_time(v, "created", x.created);
  wire::visit_optional_time(v, "expires", x.expires);
  v.defaulted("public", x.is_public);
  wire::visit_optional_metadata(v, "user_metadata", x.user_metadata);
  v.defaulted("version", x.version);
}

Result<CheckpointInfo> StateFolder::info(const TinkerPath& path, Timestamp now) const {
  std::error_code error;
  // The checks also keep the path inside: no part may hold a slash or be a parent reference.
  if (!is_safe(path.training_run_id, ":._-") || !is_safe(path.name, "._-")
      || !fs::exists(folder_of(path), error))
    return missing(path, "does not exist");
  const auto file = folder_of(path) / note_name;
  const auto text = model::read_text_file(file);
  if (!text)
    return fail(text.error());
  auto note = wire::read_json<CheckpointInfo>(*text, file.string(), Errc::io_error);
  if (note && note->expires && *note->expires <= now)
    return missing(path, "has expired");
  return note;
}

Result<WeightsFolder> StateFolder::pin(const TinkerPath& path, Timestamp now) {
  const std::lock_guard lock{mutex_};
  const auto note = info(path, now);
  if (!note)
    return fail(note.error());
  std::erase_if(pinned_, [](const auto& entry) { return entry.second.expired(); });
  const auto version
      = note->version.empty() ? path.str() + wire::to_rfc3339(note->created) : note->version;
  if (const auto found = pinned_.find(version); found != pinned_.end())
    if (auto held = found->second.lock())
      return held;
  auto folder = new_weights();
  if (const auto error = link_files(folder_of(path), *folder))
    return cannot("read", folder_of(path), error);
  pinned_[version] = folder;
  return folder;
}

Result<void> StateFolder::link(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::remove_all(to, error);
  if (!error)
    error = link_files(from, to);
  if (error)
    return cannot("write", to, error);
  return {};
}

Result<void> StateFolder::put(const TinkerPath& path, CheckpointInfo info,
                              const std::function<Result<void>(const fs::path&)>& fill) {
  if (full_ && full_())
    return cannot("write", folder_of(path), std::make_error_code(std::errc::no_space_on_device));
  const auto filling = scratch_file();
  const Removal removal{filling}; // what is left there: the failed one, or the one replaced
  if (auto filled = fill(filling); !filled)
    return filled;
  info.version = make_uuid();
  if (auto noted = model::write_text_file(filling / note_name, wire::write_json(info)); !noted)
    return noted;
  sync_names(filling);
  const auto place = folder_of(path);
  {
    const std::lock_guard lock{mutex_};
    std::error_code error;
    fs::create_directories(place.parent_path(), error);
    if (!error)
      error = move_into_place(filling, place);
    if (error)
      return cannot("write", place, error);
  }
  // Kind, run, all checkpoints, state folder: each may have been made just now.
  auto folder = place;
  for (auto level = 0; level < 4; ++level)
    sync_names(folder = folder.parent_path());
  return {};
}

Result<void> StateFolder::change(const TinkerPath& path, Timestamp now,
                                 const std::function<Result<void>(CheckpointInfo&)>& change) {
  const std::lock_guard lock{mutex_};
  auto note = info(path, now);
  if (!note)
    return fail(std::move(note.error()));
  if (auto changed = change(*note); !changed)
    return changed;
  return model::write_text_file(folder_of(path) / note_name, wire::write_json(*note));
}

Result<void> StateFolder::remove(const TinkerPath& path, Timestamp now) {
  const auto removed = scratch_file();
  const Removal removal{removed};
  const std::lock_guard lock{mutex_};
  // A damaged one can be removed too.
  if (const auto note = info(path, now); !note && note.error().code == Errc::not_found)
    return fail(note.error());
  std::error_code error;
  fs::rename(folder_of(path), removed, error);
  if (error)
    return cannot("remove", folder_of(path), error);
  return {};
}

StoredCheckpoints StateFolder::list(Timestamp now, const std::optional<std::string>& run_id) const {
  StoredCheckpoints out;
  for (const auto& run : run_id ? std::vector{*run_id} : run_ids())
    for (const auto kind : all_kinds)
      for (auto& name : names_in(runs() / run / to_string(kind))) {
        TinkerPath path{run, kind, std::move(name)};
        auto note = info(path, now);
        if (note)
          out.checkpoints.push_back({path, std::move(*note), size_of(folder_of(path))});
        else if (note.error().code != Errc::not_found)
          out.damaged.try_emplace(run, note.error().message);
      }
  std::sort(out.checkpoints.begin(), out.checkpoints.end(), [](const auto& a, const auto& b) {
    return a.info.created != b.info.created ? a.info.created > b.info.created
                                            : a.path.str() < b.path.str();
  });
  return out;
}

std::size_t StateFolder::free_expired(Timestamp now) {
  std::size_t freed = 0;
  for (const auto& run : run_ids())
    for (const auto kind : all_kinds)
      for (auto& name : names_in(runs() / run / to_string(kind))) {
        const TinkerPath path{run, kind, std::move(name)};
        const std::lock_guard lock{mutex_};
        const auto note = info(path, Timestamp::min());
        if (!note || !note->expires || *note->expires > now)
          continue;
        std::error_code ignored;
        const auto files = weights_in(folder_of(path), ignored);
        freed += files.empty() ? 0 : 1;
        for (const auto& file : files)
          fs::remove_all(file.path(), ignored);
        if (*note->expires + note_life <= now)
          fs::remove_all(folder_of(path), ignored);
      }
  return freed;
}

} // namespace tinkaf::server
