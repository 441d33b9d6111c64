// SPDX-License-Identifier: Apache-2.0
#include "train/run_folder.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "train/json_writer.hpp"
#include "train/row_reader.hpp"
#include "train/step_samples.hpp"

namespace tinkaf::train {

namespace fs = std::filesystem;

namespace {

constexpr auto metrics_name = "metrics.jsonl";
constexpr auto checkpoints_name = "checkpoints.jsonl";
constexpr auto journal_name = "journal.sqlite";

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

/// The log that SQLite keeps beside a journal that is open.
fs::path log_of(const fs::path& journal) {
  return journal.string() + "-wal";
}

Result<void> make_folders(const fs::path& folder, Made& made) {
  auto failed = std::error_code{};
  if (folder.empty() || fs::is_directory(folder, failed))
    return {};
  if (auto parent = make_folders(folder.parent_path(), made); !parent)
    return parent;
  if (fs::create_directory(folder, failed)) {
    made.add(folder);
    sync_folder(folder.parent_path());
  }
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

/// Refuses a folder with rows of a run of which the journal knows nothing: it is missing, or was
/// emptied.
Result<void> check_empty(const fs::path& folder, const JobJournal& journal) {
  const auto attempt = journal.attempt();
  if (!attempt)
    return fail(attempt.error());
  if (*attempt)
    return {};
  const auto steps = journal.steps();
  if (!steps)
    return fail(steps.error());
  if (!steps->empty())
    return {};
  for (const auto* name : {metrics_name, checkpoints_name})
    if (holds_something(folder / name))
      return fail(Errc::conflict, fmt::format("the folder {} holds a run already ({}), but no "
                                              "journal to go on from; name another or remove it",
                                              folder.string(), name));
  return {};
}

/// Makes a file hold `text` and nothing else; leaves one alone that does, or that is a device.
Result<void> replace(LineFile& open, const fs::path& file, const std::string& text) {
  auto failed = std::error_code{};
  if (!fs::is_regular_file(file, failed))
    return {};
  auto stream = std::ifstream{file, std::ios::binary};
  if (std::string{std::istreambuf_iterator<char>{stream}, {}} == text)
    return {};
  if (auto written = write_file(file, text); !written)
    return written;
  auto again = LineFile::open(file);
  if (!again)
    return fail(std::move(again.error()));
  open = std::move(*again);
  return {};
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

Result<RunFolder> RunFolder::open(const fs::path& folder, const JobIdentity& identity,
                                  std::string headline) {
  const auto whole = folder.has_filename() ? folder : folder.parent_path();
  const auto journal_file = whole / journal_name;
  auto failed = std::error_code{};
  const auto is_new = !fs::exists(journal_file, failed);
  auto held = std::shared_ptr<JobJournal>{}; // goes behind what was made, as in the destructor
  auto made = Made{};
  if (auto folders = make_folders(whole, made); !folders)
    return fail(folders.error());
  auto journal = JobJournal::open(journal_file, identity);
  // It may be another process that has just begun the run.
  if (is_new && (journal || journal.error().code != Errc::conflict)) {
    made.add(journal_file);
    made.add(log_of(journal_file));
  }
  if (!journal)
    return fail(std::move(journal.error()));
  held = std::move(*journal);
  if (auto empty = check_empty(whole, *held); !empty)
    return fail(std::move(empty.error()));
  auto metrics = make_file(whole / metrics_name, made);
  if (!metrics)
    return fail(metrics.error());
  auto checkpoints = make_file(whole / checkpoints_name, made);
  if (!checkpoints)
    return fail(checkpoints.error());
  auto result = RunFolder{
      whole, held, std::move(*metrics), std::move(*checkpoints), made.keep(), std::move(headline)};
  if (auto loaded = result.load(); !loaded)
    return fail(std::move(loaded.error()));
  return result;
}

Result<std::optional<JobIdentity>> RunFolder::finished_job(const fs::path& folder) {
  return JobJournal::finished_job(folder / journal_name);
}

RunFolder::RunFolder(fs::path folder, std::shared_ptr<JobJournal> journal, LineFile metrics,
                     LineFile checkpoints, std::vector<fs::path> made, std::string headline)
    : folder_(std::move(folder)), journal_(std::move(journal)), metrics_file_(std::move(metrics)),
      checkpoints_file_(std::move(checkpoints)), headline_(std::move(headline)),
      made_(std::move(made)) {}

RunFolder::~RunFolder() {
  Made::remove(made_); // as long as the journal is held, so that nobody else has begun to use it
}

Result<void> RunFolder::load() {
  auto steps = journal_->steps();
  if (!steps)
    return fail(std::move(steps.error()));
  auto checkpoints = journal_->checkpoints();
  if (!checkpoints)
    return fail(std::move(checkpoints.error()));
  headlines_.clear();
  checkpoints_.clear();
  auto metrics_text = std::string{};
  auto checkpoints_text = std::string{};
  for (const auto& step : *steps) {
    auto headline = read_number(step.row, headline_);
    if (!headline)
      return fail(std::move(headline.error()));
    headlines_.push_back(*headline);
    metrics_text += step.row + "\n";
  }
  for (const auto& checkpoint : *checkpoints) {
    auto row = read_checkpoint_row(checkpoint.row);
    if (!row)
      return fail(std::move(row.error()));
    checkpoints_.push_back(std::move(*row));
    checkpoints_text += checkpoint.row + "\n";
  }
  if (auto done = replace(metrics_file_, folder_ / metrics_name, metrics_text); !done)
    return done;
  return replace(checkpoints_file_, folder_ / checkpoints_name, checkpoints_text);
}

Result<void> RunFolder::write_config(const std::string& json) {
  const auto file = folder_ / "config.json";
  auto written = write_file(file, json + "\n");
  if (written && !made_.empty())
    made_.push_back(file);
  return written;
}

Result<void> RunFolder::begin(const JobAttempt& attempt) {
  // Samples for the oldest step that is not settled are of settled weights; those behind it may be
  // of weights that came of an operation which failed.
  if (auto forgotten = forget_samples(folder_, headlines_.size() + 1); !forgotten)
    return forgotten;
  if (auto begun = journal_->begin(attempt); !begun)
    return begun;
  begun_ = std::exchange(made_, {});
  return load();
}

Result<void> RunFolder::forget(const CheckpointRow& row) {
  const auto path = row.state_path; // `row` may be one of ours
  if (auto forgotten = journal_->forget_checkpoint(path); !forgotten)
    return forgotten;
  return load();
}

Result<void> RunFolder::settle(const StepRow& row, std::size_t operations) {
  auto line = to_json(row);
  if (auto settled
      = journal_->settle(JobStep{row.step, row.epoch, row.batch_of_epoch, line}, operations);
      !settled)
    return settled;
  made_.clear();
  begun_.clear();
  headlines_.push_back(row.value(headline_));
  return metrics_file_.append(line);
}

Result<void> RunFolder::settle(const CheckpointRow& row, std::size_t operations) {
  auto line = to_json(row);
  if (auto settled = journal_->settle(JobCheckpoint{row.batch, row.state_path, line}, operations);
      !settled)
    return settled;
  made_.clear();
  begun_.clear();
  checkpoints_.push_back(row);
  auto written = checkpoints_file_.append(line);
  return written ? checkpoints_file_.sync() : written;
}

} // namespace tinkaf::train
