// SPDX-License-Identifier: Apache-2.0
#include "server/state_folder.hpp"

#include "api/wire/json_describe.hpp"
#include "server/model/atomic_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace tinkaf::server {

namespace fs = std::filesystem;

namespace {

constexpr const char* note_name = "checkpoint.json";
constexpr std::size_t longest_name = 255;

bool is_safe(std::string_view part, std::string_view also) {
  return !part.empty() && part.size() <= longest_name && part != "." && part != ".."
         && std::all_of(part.begin(), part.end(), [also](char x) {
              return (x >= 'a' && x <= 'z') || (x >= 'A' && x <= 'Z') || (x >= '0' && x <= '9')
                     || also.find(x) != std::string_view::npos;
            });
}

fs::path default_dir() {
  const auto* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state != '\0')
    return fs::path{state} / "tinkaf";
  const auto* home = std::getenv("HOME");
  return fs::path{home != nullptr ? home : "."} / ".local/state/tinkaf";
}

tl::unexpected<Error> cannot(const char* what, const fs::path& path, const std::error_code& why) {
  return fail(Errc::io_error, fmt::format("cannot {} {}: {}", what, path.string(), why.message()));
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

struct Removal {
  ~Removal() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  const fs::path& path;
};

} // namespace

template <wire::JsonVisitor V>
void describe(V& v, wire::Visited<V, CheckpointInfo>& x) {
  v.field("base_model", x.base_model);
  v.field("lora_rank", x.lora_config.rank);
  v.field("train_unembed", x.lora_config.train_unembed);
  v.field("train_mlp", x.lora_config.train_mlp);
  v.field("train_attn", x.lora_config.train_attn);
  v.field("created", x.created);
  v.optional("expires", x.expires);
}

Result<std::unique_ptr<StateFolder>> StateFolder::open(fs::path dir) {
  if (dir.empty())
    dir = default_dir();
  std::error_code error;
  fs::create_directories(dir, error);
  if (error)
    return cannot("make the state folder", dir, error);
  const auto file = dir / "lock";
  const int lock = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0)
    return cannot("open", file, {errno, std::generic_category()});
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    const int why = errno;
    ::close(lock);
    if (why == EWOULDBLOCK)
      return fail(Errc::conflict, fmt::format("the state folder {} is in use by another server; "
                                              "stop it or choose another folder",
                                              dir.string()));
    return cannot("lock", file, {why, std::generic_category()});
  }
  std::unique_ptr<StateFolder> state{new StateFolder{std::move(dir), lock}};
  fs::remove_all(state->scratch(), error);
  if (!error)
    fs::create_directories(state->scratch(), error);
  if (error)
    return cannot("write to the state folder", state->dir(), error);
  return state;
}

StateFolder::StateFolder(fs::path dir, int lock) : dir_(std::move(dir)), lock_(lock) {}

StateFolder::~StateFolder() {
  std::error_code ignored;
  fs::remove_all(scratch(), ignored);
  ::close(lock_);
}

Result<void> StateFolder::check_name(const std::string& name) {
  if (!is_safe(name, "._-"))
    return fail(Errc::invalid_argument,
                fmt::format("path: `{}` cannot be the name of a checkpoint; a name has 1 to {} "
                            "letters, digits, dots, dashes or underscores",
                            name, longest_name));
  return {};
}

Result<fs::path> StateFolder::find(const TinkerPath& path, Clock::time_point now) const {
  if (auto known = info(path, now); !known)
    return fail(std::move(known.error()));
  return folder_of(path);
}

Result<CheckpointInfo> StateFolder::info(const TinkerPath& path, Clock::time_point now) const {
  const auto missing = [&](std::string_view why) {
    return fail(Errc::not_found, fmt::format("path: the checkpoint {} {}", path.str(), why));
  };
  std::error_code error;
  // The checks also keep the path inside: no part may hold a slash or be a parent reference.
  if (!is_safe(path.training_run_id, ":._-") || !is_safe(path.name, "._-")
      || !fs::exists(folder_of(path), error))
    return missing("does not exist");
  const auto text = model::read_text_file(folder_of(path) / note_name);
  if (!text)
    return fail(text.error());
  auto note = wire::read_json<CheckpointInfo>(*text, (folder_of(path) / note_name).string(),
                                              Errc::io_error);
  if (note && note->expires && *note->expires <= Clock::to_time_t(now))
    return missing("has expired");
  return note;
}

Result<void> StateFolder::put(const TinkerPath& path, const CheckpointInfo& info,
                              const std::function<Result<void>(const fs::path&)>& fill) const {
  static std::atomic<std::uint64_t> count{0};
  const auto filling = scratch() / fmt::format("checkpoint-{}", ++count);
  const Removal removal{filling}; // what is left there: the failed one, or the one replaced
  if (auto filled = fill(filling); !filled)
    return filled;
  if (auto noted = model::write_text_file(filling / note_name, wire::write_json(info)); !noted)
    return noted;
  const auto place = folder_of(path);
  std::error_code error;
  fs::create_directories(place.parent_path(), error);
  if (!error)
    error = move_into_place(filling, place);
  if (error)
    return cannot("write", place, error);
  return {};
}

fs::path StateFolder::passing(const std::string& id) const {
  return scratch() / ("sampler-" + id);
}

fs::path StateFolder::folder_of(const TinkerPath& path) const {
  return dir_ / "checkpoints" / path.training_run_id / to_string(path.kind) / path.name;
}

fs::path StateFolder::scratch() const {
  return dir_ / ".tinkaf-scratch";
}

} // namespace tinkaf::server
