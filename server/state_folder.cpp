// SPDX-License-Identifier: Apache-2.0
#include "server/state_folder.hpp"

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

constexpr const char* run_name = "run.json";
constexpr std::size_t longest_name = 255;

tl::unexpected<Error> cannot(const char* what, const fs::path& path, const std::error_code& why) {
  return fail(Errc::io_error, fmt::format("cannot {} {}: {}", what, path.string(), why.message()));
}

} // namespace

fs::path StateFolder::default_dir() {
  const auto* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state != '\0')
    return fs::path{state} / "tinkaf";
  const auto* home = std::getenv("HOME");
  return fs::path{home != nullptr ? home : "."} / ".local/state/tinkaf";
}

Result<std::unique_ptr<StateFolder>> StateFolder::open(fs::path dir, DiskFull full) {
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
  std::unique_ptr<StateFolder> state{new StateFolder{std::move(dir), lock, std::move(full)}};
  fs::remove_all(state->scratch(), error);
  if (!error)
    fs::create_directories(state->scratch(), error);
  if (error)
    return cannot("write to the state folder", state->dir(), error);
  return state;
}

StateFolder::StateFolder(fs::path dir, int lock, DiskFull full)
    : dir_(std::move(dir)), lock_(lock), full_(std::move(full)) {}

StateFolder::~StateFolder() {
  std::error_code ignored;
  fs::remove_all(scratch(), ignored);
  ::close(lock_);
}

bool StateFolder::is_safe(std::string_view part, std::string_view also) {
  return !part.empty() && part.size() <= longest_name && part != "." && part != ".."
         && std::all_of(part.begin(), part.end(), [also](char x) {
              return (x >= 'a' && x <= 'z') || (x >= 'A' && x <= 'Z') || (x >= '0' && x <= '9')
                     || also.find(x) != std::string_view::npos;
            });
}

Result<void> StateFolder::check_name(const std::string& name) {
  if (!is_safe(name, "._-"))
    return fail(Errc::invalid_argument,
                fmt::format("path: `{}` cannot be the name of a checkpoint; a name has 1 to {} "
                            "letters, digits, dots, dashes or underscores",
                            name, longest_name));
  return {};
}

WeightsFolder StateFolder::owned(fs::path folder) {
  return {new fs::path{std::move(folder)}, [](const fs::path* path) {
            std::error_code ignored;
            fs::remove_all(*path, ignored);
            delete path;
          }};
}

WeightsFolder StateFolder::new_weights() const {
  return owned(scratch_file());
}

WeightsFolder StateFolder::lasting_weights(fs::path folder) const {
  return {new fs::path{std::move(folder)}, [stay = stay_](const fs::path* path) {
            std::error_code ignored;
            if (!*stay)
              fs::remove_all(*path, ignored);
            delete path;
          }};
}

fs::path StateFolder::scratch_file() const {
  static std::atomic<std::uint64_t> count{0};
  return scratch() / std::to_string(++count);
}

std::vector<std::string> StateFolder::run_ids() const {
  std::vector<std::string> out;
  std::error_code ignored;
  for (auto it = fs::directory_iterator{runs(), ignored}; it != fs::directory_iterator{};
       it.increment(ignored))
    if (it->is_directory(ignored))
      out.push_back(it->path().filename().string());
  return out;
}

Result<std::string> StateFolder::read_run(const std::string& run_id) const {
  return model::read_text_file(runs() / run_id / run_name);
}

bool StateFolder::has_run(const std::string& run_id) const {
  std::error_code ignored;
  return fs::exists(runs() / run_id / run_name, ignored);
}

void StateFolder::remove_run(const std::string& run_id) const {
  std::error_code ignored;
  fs::remove_all(runs() / run_id, ignored);
}

Result<void> StateFolder::write_run(const std::string& run_id, const std::string& text) const {
  std::error_code error;
  fs::create_directories(runs() / run_id, error);
  if (error)
    return cannot("write", runs() / run_id, error);
  return model::write_text_file(runs() / run_id / run_name, text);
}

fs::path StateFolder::runs() const {
  return dir_ / "checkpoints";
}

fs::path StateFolder::folder_of(const TinkerPath& path) const {
  return runs() / path.training_run_id / to_string(path.kind) / path.name;
}

fs::path StateFolder::scratch() const {
  return dir_ / ".tinkaf-scratch";
}

} // namespace tinkaf::server
