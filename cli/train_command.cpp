// SPDX-License-Identifier: Apache-2.0
#include "cli/train_command.hpp"

#include "cli/client_metrics.hpp"
#include "cli/progress.hpp"
#include "cli/report.hpp"
#include "cli/resources.hpp"
#include "cli/shell_words.hpp"
#include "cli/train_job.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "train/json_writer.hpp"

namespace tinkaf::cli {

namespace {

std::string result_json(const TrainResult& result, const TrainJob& job,
                        const std::optional<ClientMetrics>& metrics) {
  const auto& outcome = result.outcome;
  auto json = train::JsonWriter{};
  json.add("out", job.out.string());
  json.add("steps", static_cast<std::int64_t>(outcome.steps_done));
  json.add("stopped", outcome.stopped);
  for (const auto& value : result.told) {
    json.add("first_" + value.told.column, value.first);
    json.add("last_" + value.told.column, value.last);
  }
  json.add("tokens_per_second", result.tokens_per_second);
  if (outcome.checkpoint) {
    json.add("state_path", outcome.checkpoint->state_path);
    if (!outcome.checkpoint->sampler_path.empty())
      json.add("sampler_path", outcome.checkpoint->sampler_path);
  }
  auto text = json.take();
  if (metrics) {
    text.pop_back();
    text += fmt::format(",\"client_metrics\":{}}}", metrics_json(*metrics));
  }
  return text;
}

void print_result(const TrainResult& result, const TrainArguments& arguments) {
  const auto& outcome = result.outcome;
  auto text = fmt::format("{} steps", outcome.steps_done);
  for (const auto& value : result.told)
    text += fmt::format(", {} {} -> {}", value.told.name, four_places(value.first),
                        four_places(value.last));
  if (result.tokens_per_second > 0.0)
    text += fmt::format(", {:.0f} tok/s", result.tokens_per_second);
  fmt::print("{}; metrics in {}\n", text, (arguments.job.out / "metrics.jsonl").string());
  if (!outcome.checkpoint)
    return;
  fmt::print("state    {}\n", outcome.checkpoint->state_path);
  if (!outcome.checkpoint->sampler_path.empty())
    fmt::print("sampler  {}\nto sample: {} sample --model-path {} --prompt '…'{}\n",
               outcome.checkpoint->sampler_path, program_path(),
               shell_word(outcome.checkpoint->sampler_path), same_service(arguments.service));
}

/// For a run that is at its end before anything is started.
int say_finished(const TrainResult& result, const TrainArguments& arguments) {
  if (arguments.json) {
    fmt::print("{}\n", result_json(result, arguments.job, {}));
    return exit_success;
  }
  fmt::print("the run is at its end already\n");
  print_result(result, arguments);
  return exit_success;
}

/// Data are read twice, to train on them and to know them again; a pipe can be read but once.
Result<void> check_file(const std::filesystem::path& data) {
  auto failed = std::error_code{};
  const auto status = std::filesystem::status(data, failed);
  if (!std::filesystem::exists(status) || std::filesystem::is_directory(status)
      || std::filesystem::is_regular_file(status))
    return {}; // told as such when it is read
  return fail(Errc::invalid_argument,
              fmt::format("--data {} is a pipe or a device, but must be a file: a run that goes on "
                          "reads it again",
                          data.string()));
}

int train(const TrainArguments& arguments, TrainTask& task, const StopSignals& signals) {
  const auto& job = arguments.job;
  if (auto file = check_file(job.data); !file)
    return report(file.error(), signals);
  if (auto read = task.read(job.data); !read)
    return report(read.error(), signals);
  if (arguments.service.model_dir.empty() || !arguments.service.model.empty()) {
    const auto finished = finished_job(job, task, arguments.service.model);
    if (!finished)
      return report(finished.error(), signals);
    if (*finished)
      return say_finished(**finished, arguments);
  }
  auto connection = Connection::open(arguments.service, signals.token());
  if (!connection)
    return report(connection.error(), signals);
  const auto result = run_job(job, task, *connection, arguments.json ? stderr : stdout, signals);
  if (!result)
    return report(result.error(), signals);
  auto metrics = std::optional<ClientMetrics>{};
  if (arguments.client_metrics)
    if (auto told = connection->service().metrics().get())
      metrics = std::move(*told);
  if (arguments.json)
    fmt::print("{}\n", result_json(*result, job, metrics));
  else
    print_result(*result, arguments);
  if (metrics && !arguments.json)
    fmt::print("{}", metrics_table(*metrics));
  if (arguments.tree)
    if (const auto supervised = connection->service().supervision_tree().get())
      fmt::print(arguments.json ? stderr : stdout, "{}", to_text(*supervised));
  if (!result->outcome.stopped)
    return exit_success;
  complain(result->outcome.checkpoint
               ? "stopped; what was done is saved, and the same command goes on"
               : "stopped; there was no time to save a checkpoint, but the same command goes on");
  return signals.exit_code();
}

} // namespace

void set_training(CLI::App& command, Command& run, std::shared_ptr<TrainArguments> arguments,
                  MakeTask make) {
  command.callback([&run, arguments = std::move(arguments), make = std::move(make)] {
    arguments->job.settings.schedule = *train::parse_lr_schedule(arguments->schedule);
    run = [arguments, make](const StopSignals& signals) {
      const auto task = make();
      return task ? train(*arguments, **task, signals) : report(task.error(), signals);
    };
  });
}

void add_train(CLI::App& parent, Command& run) {
  auto* command = parent.add_subcommand("train", "Fine-tune a model");
  command->require_subcommand(1);
  add_train_sft(*command, run);
  add_train_dpo(*command, run);
  add_train_rl(*command, run);
  add_train_distill(*command, run);
}

} // namespace tinkaf::cli
