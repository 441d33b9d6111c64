// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json_rest.hpp"
#include "cli/commands.hpp"
#include "cli/report.hpp"
#include "cli/storage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace tinkaf::cli {

namespace {

constexpr std::int64_t page_size = 100;

struct RunArguments {
  ServiceArguments service;
  std::size_t limit = 20;
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

Result<std::vector<Column>> choose(const std::vector<std::string>& names) {
  auto chosen = std::vector<Column>{};
  for (const auto& name : names) {
    const auto* found = std::find_if(columns.begin(), columns.end(),
                                     [&](const auto& column) { return column.name == name; });
    if (found == columns.end())
      return fail(Errc::invalid_argument,
                  fmt::format("unknown column `{}`; there are: id, model, owner, lora, updated, "
                              "status, checkpoint, checkpoint_time",
                              name));
    chosen.push_back(*found);
  }
  return chosen;
}

void print_table(const std::vector<TrainingRun>& runs, const std::vector<Column>& chosen,
                 std::optional<std::int64_t> total) {
  const auto count = static_cast<std::int64_t>(runs.size());
  auto title = fmt::format("{} training run{}", count, count == 1 ? "" : "s");
  if (total && *total > count)
    title += fmt::format(" ({} more not shown; --limit 0 shows all)", *total - count);
  print_line(title);
  auto head = std::vector<std::string>{};
  for (const auto& column : chosen)
    head.emplace_back(column.title);
  auto rows = std::vector<std::vector<std::string>>{};
  for (const auto& run : runs) {
    auto& row = rows.emplace_back();
    for (const auto& column : chosen)
      row.push_back(column.text(run));
  }
  fmt::print("{}", table_text(head, rows));
}

Result<void> list(const RunArguments& arguments, OutputFormat format, const StopSignals& signals) {
  const auto chosen = choose(arguments.columns);
  if (!chosen)
    return fail(chosen.error());
  auto storage = Storage::open(arguments.service, signals.token());
  if (!storage)
    return fail(storage.error());
  const auto wanted = static_cast<std::int64_t>(arguments.limit);
  auto walk = storage->rest().all_training_runs(
      {.limit = wanted == 0 ? page_size : std::min(wanted, page_size)});
  const auto runs = walk.all(arguments.limit);
  if (!runs)
    return fail(runs.error());
  if (format == OutputFormat::table) {
    print_table(*runs, *chosen, walk.total_count());
    return {};
  }
  auto json = std::string{};
  for (const auto& run : *runs)
    json += (json.empty() ? "" : ",") + wire::to_json(run);
  print_line(pretty_json("{\"runs\":[" + json + "]}"));
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

Result<void> info(const RunArguments& arguments, OutputFormat format, const StopSignals& signals) {
  auto storage = Storage::open(arguments.service, signals.token());
  if (!storage)
    return fail(storage.error());
  const auto run
      = wait(storage->rest().get_training_run(arguments.training_run_id), signals.token());
  if (!run)
    return fail(run.error());
  if (format == OutputFormat::json) {
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
  auto* group = parent.add_subcommand("run", "Look at training runs");
  group->require_subcommand(1);
  group->fallthrough();
  const auto arguments = std::make_shared<RunArguments>();
  auto add = [&](const char* name, const char* text, auto act) {
    auto* command = group->add_subcommand(name, text);
    command->fallthrough();
    add_storage_options(*command, arguments->service);
    command->callback([&run, &format, arguments, act] {
      run = [&format, arguments, act](const StopSignals& signals) {
        const auto done = act(*arguments, format, signals);
        return done ? exit_success : report(done.error(), signals);
      };
    });
    return command;
  };
  auto* all = add("list", "List training runs, newest first", list);
  all->add_option("--limit", arguments->limit, "Runs to show; 0 shows all")->capture_default_str();
  all->add_option("-c,--columns", arguments->columns,
                  "Columns: id, model, owner, lora, updated, status, checkpoint, checkpoint_time")
      ->delimiter(',');
  auto* one = add("info", "Show a training run", info);
  one->add_option("RUN", arguments->training_run_id, "Its id")->required();
}

} // namespace tinkaf::cli
