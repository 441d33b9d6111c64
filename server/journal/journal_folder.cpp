// SPDX-License-Identifier: Apache-2.0
#include "server/journal/journal_folder.hpp"

#include "server/model/atomic_file.hpp"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace tinkaf::server {

namespace fs = std::filesystem;

namespace {

constexpr const char* format_name = "FORMAT";
constexpr std::string_view format_title = "journal of a tinkaf server, format ";
constexpr int format_number = 1;
constexpr std::string_view model_prefix = "train-";
constexpr std::string_view log_suffix = ".log";

template <class T>
bool read_number(std::string_view text, T& x) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
  return error == std::errc{} && end == text.data() + text.size();
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

Result<void> check_format(const fs::path& dir) {
  const auto file = dir / format_name;
  std::error_code error;
  if (!fs::exists(file, error)) {
    if (!fs::is_empty(dir, error) || error)
      return fail(Errc::invalid_argument,
                  fmt::format("state_dir: {} holds something else than the journal of a server; "
                              "choose another state folder, or move it away",
                              dir.string()));
    return model::write_text_file(file, fmt::format("{}{}\n", format_title, format_number));
  }
  const auto text = model::read_text_file(file, 4096);
  if (!text)
    return fail(text.error());
  const auto line = first_line(*text);
  int number = 0;
  if (!line.starts_with(format_title)
      || !read_number(std::string_view{line}.substr(format_title.size()), number))
    return fail(Errc::invalid_argument,
                fmt::format("state_dir: {} does not say that this is the journal of a server; "
                            "choose another state folder, or move {} away",
                            file.string(), dir.string()));
  if (number != format_number)
    return fail(Errc::invalid_argument,
                fmt::format("state_dir: {} was written in format {} by a later version, this one "
                            "knows format {}; use that version or another state folder",
                            dir.string(), number, format_number));
  return {};
}

std::vector<std::string> names_in(const fs::path& dir, bool folders) {
  std::vector<std::string> out;
  std::error_code error;
  for (auto it = fs::directory_iterator{dir, error}; !error && it != fs::directory_iterator{};
       it.increment(error))
    if (std::error_code ignored; !folders || it->is_directory(ignored))
      out.push_back(it->path().filename().string());
  return out;
}

} // namespace

JournalFolder::JournalFolder(fs::path dir, DiskFull full)
    : dir_(std::move(dir)), full_(std::move(full)) {}

Result<JournalFolder> JournalFolder::open(fs::path dir, DiskFull full) {
  std::error_code error;
  fs::create_directories(dir, error);
  if (error)
    return fail(Errc::io_error, fmt::format("cannot make {}: {}", dir.string(), error.message()));
  if (auto good = check_format(dir); !good)
    return fail(std::move(good.error()));
  return JournalFolder{std::move(dir), std::move(full)};
}

std::vector<std::string> JournalFolder::sessions() const {
  return names_in(dir_, true);
}

std::vector<std::string> JournalFolder::files(const std::string& session_id) const {
  return names_in(dir_ / session_id, false);
}

std::vector<std::int64_t> JournalFolder::models(const std::string& session_id) const {
  std::vector<std::int64_t> out;
  for (const auto& name : files(session_id)) {
    std::string_view rest{name};
    std::int64_t number = 0;
    if (!rest.starts_with(model_prefix) || !rest.ends_with(log_suffix))
      continue;
    rest.remove_prefix(model_prefix.size());
    rest.remove_suffix(log_suffix.size());
    if (read_number(rest, number))
      out.push_back(number);
  }
  return out;
}

Result<void> JournalFolder::add(const std::string& session_id) const {
  std::error_code error;
  fs::create_directory(dir_ / session_id, error);
  if (error)
    return fail(Errc::io_error,
                fmt::format("cannot make {}: {}", (dir_ / session_id).string(), error.message()));
  return {};
}

void JournalFolder::remove(const std::string& session_id) const {
  std::error_code ignored;
  fs::remove_all(dir_ / session_id, ignored);
}

std::shared_ptr<RecordLog> JournalFolder::session_log(const std::string& session_id) const {
  return std::make_shared<RecordLog>(file(session_id, "session.log"), full_);
}

std::shared_ptr<RecordLog> JournalFolder::model_log(const std::string& session_id,
                                                    std::int64_t number) const {
  return std::make_shared<RecordLog>(
      file(session_id, fmt::format("{}{}{}", model_prefix, number, log_suffix)), full_);
}

std::shared_ptr<RecordLog> JournalFolder::loose_log() const {
  return std::make_shared<RecordLog>(dir_ / "samples.log", full_);
}

} // namespace tinkaf::server
