// SPDX-License-Identifier: Apache-2.0
#include "cli/client_metrics.hpp"
#include "cli/commands.hpp"
#include "cli/limits.hpp"
#include "cli/report.hpp"
#include "cli/resources.hpp"
#include "cli/sft_command.hpp"
#include "cli/shell_words.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "train/json_writer.hpp"

namespace tinkaf::cli {

namespace {

struct TrainArguments {
  SftJob job;
  ServiceArguments service;
  std::string schedule = "linear";
  bool json = false;
  bool client_metrics = false;
  bool tree = false;
};

std::string result_json(const SftJobResult& result, const SftJob& job,
                        const std::optional<ClientMetrics>& metrics) {
  const auto& outcome = result.outcome;
  auto json = train::JsonWriter{};
  json.add("out", job.out.string());
  json.add("steps", static_cast<std::int64_t>(outcome.steps_done));
  json.add("stopped", outcome.stopped);
  json.add("first_train_mean_nll", outcome.first);
  json.add("last_train_mean_nll", outcome.last);
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

void print_result(const SftJobResult& result, const TrainArguments& arguments) {
  const auto& outcome = result.outcome;
  const auto speed = result.tokens_per_second > 0.0
                         ? fmt::format(", {:.0f} tok/s", result.tokens_per_second)
                         : std::string{};
  fmt::print("{} steps, loss {:.4f} -> {:.4f}{}; metrics in {}\n", outcome.steps_done,
             outcome.first, outcome.last, speed, (arguments.job.out / "metrics.jsonl").string());
  if (!outcome.checkpoint)
    return;
  fmt::print("state    {}\n", outcome.checkpoint->state_path);
  if (!outcome.checkpoint->sampler_path.empty())
    fmt::print("sampler  {}\nto sample: {} sample --model-path {} --prompt '…'{}\n",
               outcome.checkpoint->sampler_path, program_path(),
               shell_word(outcome.checkpoint->sampler_path), same_service(arguments.service));
}

/// For a run that is at its end before anything is started.
int say_finished(const SftJobResult& result, const TrainArguments& arguments) {
  if (arguments.json) {
    fmt::print("{}\n", result_json(result, arguments.job, {}));
    return exit_success;
  }
  fmt::print("the run is at its end already\n");
  print_result(result, arguments);
  return exit_success;
}

int train_sft(const TrainArguments& arguments, const StopSignals& signals) {
  const auto rows = train::read_rows(arguments.job.data);
  if (!rows)
    return report(rows.error(), signals);
  if (arguments.service.model_dir.empty() || !arguments.service.model.empty()) {
    const auto finished = finished_job(arguments.job, arguments.service.model);
    if (!finished)
      return report(finished.error(), signals);
    if (*finished)
      return say_finished(**finished, arguments);
  }
  auto connection = Connection::open(arguments.service, signals.token());
  if (!connection)
    return report(connection.error(), signals);
  const auto result
      = run_job(arguments.job, *rows, *connection, arguments.json ? stderr : stdout, signals);
  if (!result)
    return report(result.error(), signals);
  auto metrics = std::optional<ClientMetrics>{};
  if (arguments.client_metrics)
    if (auto told = connection->service().metrics().get())
      metrics = std::move(*told);
  if (arguments.json)
    fmt::print("{}\n", result_json(*result, arguments.job, metrics));
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

void add_train(CLI::App& parent, Command& run) {
  auto* train = parent.add_subcommand("train", "Fine-tune a model");
  train->require_subcommand(1);
  auto* command = train->add_subcommand(
      "sft", "Supervised fine-tuning on prompts with completions, or on chats");
  const auto arguments = std::make_shared<TrainArguments>();
  auto& job = arguments->job;
  command
      ->add_option("--data", job.data,
                   "JSON lines: {\"prompt\", \"completion\"} or {\"messages\"} each")
      ->required();
  command->add_option("--steps", job.settings.steps, "Optimizer steps")
      ->required()
      ->check(whole_number(1));
  command
      ->add_option("--out", job.out,
                   "Folder for metrics.jsonl and checkpoints.jsonl; the same command goes on "
                   "with a run that was killed or stopped")
      ->required();
  add_service_options(*command, arguments->service);
  command->add_option("--lora-rank", job.lora_rank, "Rank of the adapter, a power of two")
      ->check(whole_number(1, INT32_MAX))
      ->capture_default_str();
  command->add_option("--lr", job.settings.adam.learning_rate, "Learning rate at the start")
      ->check(at_least_zero())
      ->capture_default_str();
  command->add_option("--lr-schedule", arguments->schedule, "constant, linear or cosine")
      ->check(one_of({"constant", "linear", "cosine"}))
      ->capture_default_str();
  command
      ->add_option("--renderer", job.renderer,
                   "How chats look to the model: chatml, llama3, qwen3, "
                   "qwen3_disable_thinking or qwen3_instruct [by the model's name]")
      ->check(one_of({"chatml", "llama3", "qwen3", "qwen3_disable_thinking", "qwen3_instruct"}));
  command->add_option("--batch", job.settings.batch_size, "Rows in a batch")
      ->check(whole_number(1))
      ->capture_default_str();
  job.settings.save_every = 50;
  command
      ->add_option("--save-every", job.settings.save_every,
                   "Steps between checkpoints to go on from, which are kept for a week; 0 for none")
      ->check(whole_number(0))
      ->capture_default_str();
  command->add_option("--seed", job.settings.seed, "Seed of the adapter and of the rows' order")
      ->check(whole_number(0))
      ->capture_default_str();
  command->add_flag("--json", arguments->json, "Print the result as one JSON object");
  command->add_flag("--client-metrics", arguments->client_metrics,
                    "Print counts and latencies of the calls at the end");
  command->add_flag("--tree", arguments->tree,
                    "Print at the end which parts of the client broke and were started again");
  command->callback([&run, arguments] {
    arguments->job.settings.schedule = *train::parse_lr_schedule(arguments->schedule);
    run = [arguments](const StopSignals& signals) { return train_sft(*arguments, signals); };
  });
}

} // namespace tinkaf::cli
