// SPDX-License-Identifier: Apache-2.0
#include "test/chaos/evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace tinkaf::test {

namespace {

std::string read(const std::filesystem::path& path) {
  auto file = std::ifstream{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{file}, {}};
}

std::map<std::string, std::string> read_all(const std::filesystem::path& folder) {
  auto files = std::map<std::string, std::string>{};
  auto missing = std::error_code{};
  for (const auto& entry : std::filesystem::directory_iterator{folder, missing})
    files[entry.path().filename().string()] = read(entry.path());
  return files;
}

std::string last_line(const std::string& text) {
  const auto end = text.find_last_not_of('\n');
  if (end == std::string::npos)
    return {};
  const auto begin = text.rfind('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1, end + 1);
}

std::string different_lines(const std::string& expected, const std::string& found) {
  const auto lines
      = [](const std::string& text) { return std::count(text.begin(), text.end(), '\n'); };
  const auto [at, other]
      = std::mismatch(expected.begin(), expected.end(), found.begin(), found.end());
  return fmt::format("metrics.jsonl has {} lines instead of {} and differs from line {} on",
                     lines(found), lines(expected), 1 + std::count(expected.begin(), at, '\n'));
}

} // namespace

std::string json_field(std::string_view json, std::string_view name) {
  const auto head = fmt::format("\"{}\":", name);
  auto at = json.find(head);
  if (at == std::string_view::npos)
    return {};
  at = json.find_first_not_of(' ', at + head.size());
  if (at == std::string_view::npos)
    return {};
  const auto quoted = json[at] == '"';
  const auto from = quoted ? at + 1 : at;
  const auto to = json.find_first_of(quoted ? "\"" : ",}] \n", from);
  return std::string{json.substr(from, to == std::string_view::npos ? to : to - from)};
}

RunRecord read_run(const std::filesystem::path& run, const std::filesystem::path& state) {
  auto record = RunRecord{.metrics = read(run / "metrics.jsonl")};
  record.samples = read(run / "samples.txt") + read(run / "samples.jsonl");
  record.archive = read_all(run / "archive");
  const auto row = last_line(read(run / "checkpoints.jsonl"));
  record.final = json_field(row, "final") == "true";
  const std::string scheme = "tinker://";
  const auto path = json_field(row, "state_path");
  if (!path.starts_with(scheme))
    return record;
  const auto folder = state / "checkpoints" / path.substr(scheme.size());
  record.weights = read(folder / "adapter_model.safetensors");
  record.optimizer = read(folder / "optimizer.safetensors");
  record.progress = read(folder / "training_state.json");
  return record;
}

std::string difference(const RunRecord& expected, const RunRecord& found) {
  if (found.metrics != expected.metrics)
    return different_lines(expected.metrics, found.metrics);
  if (!found.final)
    return "there is no final checkpoint";
  if (found.progress != expected.progress)
    return fmt::format("the optimizer stands at {} instead of {}", found.progress,
                       expected.progress);
  if (found.weights != expected.weights || found.optimizer != expected.optimizer)
    return "weights or optimizer differ";
  if (found.samples != expected.samples)
    return "samples differ";
  if (found.archive != expected.archive)
    return "the archive differs from the checkpoint";
  return {};
}

void OperationWatch::note(const Exchange& exchange) {
  if (exchange.status == 200 && exchange.target.ends_with("/retrieve_future")) {
    // One that is not ready says `try_again`, one that is large how large it is first.
    if (exchange.answer.find("\"type\":\"try_again\"") == std::string::npos
        && exchange.answer.find("\"complete_metadata\"") == std::string::npos) {
      const auto lock = std::lock_guard{mutex_};
      results_[json_field(exchange.body, "request_id")].insert(exchange.answer);
    }
    return;
  }
  const auto number = json_field(exchange.body, "seq_id");
  const auto model = json_field(exchange.body, "model_id");
  const auto id = json_field(exchange.answer, "request_id");
  // A body that is no JSON has both in it too, and is the same when it is sent again.
  const auto binary = !exchange.body.starts_with('{');
  if (exchange.status != 200 || id.empty() || (!binary && (number.empty() || model.empty())))
    return;
  auto name = binary ? fmt::format("{} {}", exchange.target, exchange.body)
                     : fmt::format("{} {} {}", exchange.target, model, number);
  const auto lock = std::lock_guard{mutex_};
  ids_[std::move(name)].insert(id);
}

std::size_t OperationWatch::doubled() const {
  const auto lock = std::lock_guard{mutex_};
  return static_cast<std::size_t>(std::count_if(
      ids_.begin(), ids_.end(), [](const auto& operation) { return operation.second.size() > 1; }));
}

std::size_t OperationWatch::contradictory() const {
  const auto lock = std::lock_guard{mutex_};
  return static_cast<std::size_t>(std::count_if(results_.begin(), results_.end(),
                                                [](const auto& x) { return x.second.size() > 1; }));
}

std::string OperationWatch::contradiction() const {
  const auto lock = std::lock_guard{mutex_};
  for (const auto& [id, answers] : results_)
    if (answers.size() > 1) {
      auto text = id;
      for (const auto& answer : answers)
        text += fmt::format(": {:.200}", answer);
      return text;
    }
  return {};
}

std::size_t OperationWatch::failed() const {
  const auto lock = std::lock_guard{mutex_};
  return static_cast<std::size_t>(
      std::count_if(results_.begin(), results_.end(), [](const auto& x) {
        return std::any_of(x.second.begin(), x.second.end(), [](const std::string& answer) {
          return answer.find(played_failure) != std::string::npos;
        });
      }));
}

std::size_t OperationWatch::accepted() const {
  const auto lock = std::lock_guard{mutex_};
  return ids_.size();
}

} // namespace tinkaf::test
