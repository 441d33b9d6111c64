// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json_rest.hpp"
#include "cli/limits.hpp"
#include "cli/storage_group.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace tinkaf::cli {

namespace {

constexpr std::int64_t page_size = 100;

struct RunArguments {
  ServiceArguments service;
  std::size_t limit = 0;
  std::vector<std::string> columns{"id", "model", "lora", "updated", "status"};
  std::string training_run_id;
};

struct Column {
  const char* name;
  const char* title;
  std::string (*text)(const TrainingRun&);
};

std::string lora_text(const TrainingRun& run) {
  if (!run.is_lora)
    return "No";
  return run.lora_rank ? fmt::format("Rank {}", *run.lora_rank) : "Yes";
}

constexpr auto columns = std::array{
    Column{"id", "Run ID", [](const TrainingRun& x) { return x.training_run_id; }},
    Column{"model", "Base Model", [](const TrainingRun& x) { return x.base_model; }},
    Column{"owner", "Owner", [](const TrainingRun& x) { return x.model_owner; }},
    Column{"lora", "LoRA", lora_text},
    Column{"updated", "Last Update",
           [](const TrainingRun& x) { return time_text(x.last_request_time, now()); }},
    Column{"status", "Status",
           [](const TrainingRun& x) { return std::string{x.corrupted ? "Failed" : "OK"}; }},
    Column{"checkpoint", "Last Checkpoint",
           [](const TrainingRun& x) {
             return x.last_checkpoint ? x.last_checkpoint->checkpoint_id : std::string{"N/A"};
           }},
    Column{"checkpoint_time", "Checkpoint Time",
           [](const TrainingRun& x) {
             return x.last_checkpoint ? time_text(x.last_checkpoint->time, now())
                                      : std::string{"N/A"};
           }},
};

std::vector<std::string> column_names() {
  auto names = std::vector<std::string>{};
  for (const auto& column : columns)
    names.emplace_back(column.name);
  return names;
}

void print_table(const std::vector<TrainingRun>& runs, const std::vector<std::string>& chosen) {
  auto head = std::vector<std::string>{};
  auto rows = std::vector<std::vector<std::string>>(runs.size());
  for (const auto& name : chosen) {
    const auto& column = *std::find_if(columns.begin(), columns.end(),
                                       [&](const auto& x) { return x.name == name; });
    head.emplace_back(column.title);
    for (std::size_t i = 0; i < runs.size(); ++i)
      rows[i].push_back(column.text(runs[i]));
  }
  fmt::print("{}", table_text(head, rows));
}

Result<void> list(const RunArguments& arguments, const StorageCall& call) {
  auto walk = call.rest.all_training_runs({.limit = page_limit(arguments.limit, page_size)});
  const auto runs = walk.all(arguments.limit);
  if (!runs)
    return fail(runs.error());
  if (call.format == OutputFormat::json) {
    print_line(pretty_json(
        "{\"runs\":" + json_list(*runs, [](const auto& x) { return wire::to_json(x); }) + "}"));
    return {};
  }
  print_count(runs->size(), "training run", walk.total_count());
  print_table(*runs, arguments.columns);
  return {};
}

void add_checkpoint(std::vector<std::vector<std::string>>& rows, const std::string& title,
                    const std::optional<Checkpoint>& checkpoint) {
  if (!checkpoint)
    return;
  rows.push_back({title, checkpoint->checkpoint_id});
  rows.push_back({"  Time", time_text(checkpoint->time, now())});
  rows.push_back({"  Path", checkpoint->tinker_path});
}

Result<void> info(const RunArguments& arguments, const StorageCall& call) {
  const auto run = wait(call.rest.get_training_run(arguments.training_run_id), call.stop);
  if (!run)
    return fail(run.error());
  if (call.format == OutputFormat::json) {
    print_line(pretty_json(wire::to_json(*run)));
    return {};
  }
  auto rows = std::vector<std::vector<std::string>>{
      {"Run ID", run->training_run_id},
      {"Base Model", run->base_model},
      {"Owner", run->model_owner},
      {"LoRA", lora_text(*run)},
      {"Last Update", time_text(run->last_request_time, now())},
      {"Status", run->corrupted ? "Failed" : "OK"},
  };
  add_checkpoint(rows, "Last Checkpoint", run->last_checkpoint);
  add_checkpoint(rows, "Last Sampler Checkpoint", run->last_sampler_checkpoint);
  for (const auto& [name, text] : run->user_metadata)
    rows.push_back({"Metadata: " + name, text});
  fmt::print("{}", table_text({"Property", "Value"}, rows));
  return {};
}

} // namespace

void add_runs(CLI::App& parent, Command& run, const OutputFormat& format) {
  auto group = StorageGroup{parent, "run", "Look at training runs", run, format};
  const auto arguments = std::make_shared<RunArguments>();
  auto* all = group.add("list", "List training runs, newest first", arguments, list);
  add_limit(*all, arguments->limit, "Runs");
  all->add_option("-c,--columns", arguments->columns,
                  fmt::format("Columns: {}", fmt::join(column_names(), ", ")))
      ->check(one_of(column_names()))
      ->delimiter(',');
  auto* one = group.add("info", "Show a training run", arguments, info);
  one->add_option("RUN", arguments->training_run_id, "Its id")->required();
}

} // namespace tinkaf::cli
