// SPDX-License-Identifier: Apache-2.0
#include "train/run_folder.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <system_error>
#include <utility>

#include "train/json_writer.hpp"

namespace tinkaf::train {

namespace fs = std::filesystem;

namespace {

constexpr auto metrics_name = "metrics.jsonl";
constexpr auto checkpoints_name = "checkpoints.jsonl";

/// Folders and files that are taken away again unless somebody keeps them.
class Made {
public:
  Made() = default;
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;

  ~Made() {
    remove(paths_);
  }

  void add(fs::path path) {
    paths_.push_back(std::move(path));
  }

  [[nodiscard]] std::vector<fs::path> keep() {
    return std::exchange(paths_, {});
  }

  /// Newest first; a folder that is not empty stays.
  static void remove(const std::vector<fs::path>& paths) {
    auto ignored = std::error_code{};
    for (auto path = paths.rbegin(); path != paths.rend(); ++path)
      fs::remove(*path, ignored);
  }

private:
  std::vector<fs::path> paths_;
};

Result<void> make_folders(const fs::path& folder, Made& made) {
  auto failed = std::error_code{};
  if (folder.empty() || fs::is_directory(folder, failed))
    return {};
  if (auto parent = make_folders(folder.parent_path(), made); !parent)
    return parent;
  if (fs::create_directory(folder, failed))
    made.add(folder);
  if (failed)
    return fail(Errc::io_error,
                fmt::format("cannot make the folder {}: {}", folder.string(), failed.message()));
  return {};
}

Result<LineFile> make_file(const fs::path& file, Made& made) {
  auto failed = std::error_code{};
  const auto is_new = !fs::exists(file, failed);
  auto result = LineFile::open(file);
  if (result && is_new)
    made.add(file);
  return result;
}

bool holds_something(const fs::path& file) {
  auto failed = std::error_code{};
  const auto size = fs::file_size(file, failed);
  return !failed && size > 0;
}

} // namespace

std::string to_json(const CheckpointRow& row) {
  auto json = JsonWriter{};
  json.add("name", row.name);
  json.add("batch", static_cast<std::int64_t>(row.batch));
  json.add("epoch", static_cast<std::int64_t>(row.epoch));
  if (row.final)
    json.add("final", true);
  if (!row.state_path.empty())
    json.add("state_path", row.state_path);
  if (!row.sampler_path.empty())
    json.add("sampler_path", row.sampler_path);
  return json.take();
}

Result<RunFolder> RunFolder::create(const fs::path& folder) {
  const auto whole = folder.has_filename() ? folder : folder.parent_path();
  for (const auto* name : {metrics_name, checkpoints_name})
    if (holds_something(whole / name))
      return fail(Errc::conflict, fmt::format("the folder {} holds a run already ({}); name "
                                              "another or remove it",
                                              whole.string(), name));
  auto made = Made{};
  if (auto folders = make_folders(whole, made); !folders)
    return fail(folders.error());
  auto metrics = make_file(whole / metrics_name, made);
  if (!metrics)
    return fail(metrics.error());
  auto checkpoints = make_file(whole / checkpoints_name, made);
  if (!checkpoints)
    return fail(checkpoints.error());
  return RunFolder{whole, std::move(*metrics), std::move(*checkpoints), made.keep()};
}

RunFolder::RunFolder(fs::path folder, LineFile metrics, LineFile checkpoints,
                     std::vector<fs::path> made)
    : folder_(std::move(folder)), metrics_(std::move(metrics)),
      checkpoints_(std::move(checkpoints)), made_(std::move(made)) {}

RunFolder::~RunFolder() {
  Made::remove(made_);
}

Result<void> RunFolder::write_config(const std::string& json) {
  const auto file = folder_ / "config.json";
  auto written = write_file(file, json + "\n");
  if (written && !made_.empty())
    made_.push_back(file);
  return written;
}

Result<void> RunFolder::append(const MetricsRow& row) {
  return append(metrics_, to_json(row));
}

Result<void> RunFolder::append(const CheckpointRow& row) {
  auto written = append(checkpoints_, to_json(row));
  return written ? checkpoints_.sync() : written;
}

Result<void> RunFolder::append(LineFile& file, const std::string& line) {
  auto written = file.append(line);
  if (written)
    made_.clear();
  return written;
}

} // namespace tinkaf::train
