// SPDX-License-Identifier: Apache-2.0
#include "cli/train_options.hpp"

#include "cli/limits.hpp"

namespace tinkaf::cli {

void add_train_options(CLI::App& command, TrainArguments& arguments, const std::string& rows) {
  auto& job = arguments.job;
  command.add_option("--data", job.data, "JSON lines: " + rows + " each")
      ->required()
      ->check(not_empty());
  command.add_option("--steps", job.settings.steps, "Optimizer steps")
      ->required()
      ->check(whole_number(1));
  command
      .add_option("--out", job.out,
                  "Folder for metrics.jsonl and checkpoints.jsonl; the same command goes on "
                  "with a run that was killed or stopped")
      ->required()
      ->check(not_empty());
  command
      .add_option("--from", job.from,
                  "Weights to begin from: the folder of another run, for its last checkpoint, "
                  "or a tinker://…/weights/… path; the optimizer begins afresh")
      ->check(not_empty());
  add_service_options(command, arguments.service);
  command
      .add_option_function<std::int32_t>(
          "--lora-rank",
          [&job](std::int32_t rank) {
            job.lora_rank = rank;
            job.lora_rank_given = true;
          },
          "Rank of the adapter, a power of two [32, or that of --from]")
      ->check(whole_number(1, INT32_MAX))
      ->check(power_of_two());
  command.add_option("--lr", job.settings.adam.learning_rate, "Learning rate at the start")
      ->check(at_least_zero())
      ->capture_default_str();
  command.add_option("--lr-schedule", arguments.schedule, "constant, linear or cosine")
      ->check(one_of({"constant", "linear", "cosine"}))
      ->capture_default_str();
  command.add_option("--batch", job.settings.batch_size, "Rows in a batch")
      ->check(whole_number(1))
      ->capture_default_str();
  command
      .add_option("--save-every", job.settings.save_every,
                  "Steps between checkpoints to go on from, which are kept for a week; 0 for none")
      ->check(whole_number(0))
      ->capture_default_str();
  command.add_option("--seed", job.settings.seed, "Seed of the adapter and of the rows' order")
      ->check(whole_number(0))
      ->capture_default_str();
  command.add_flag("--json", arguments.json, "Print the result as one JSON object");
  command.add_flag("--client-metrics", arguments.client_metrics,
                   "Print counts and latencies of the calls at the end");
  command.add_flag("--tree", arguments.tree,
                   "Print at the end which parts of the client broke and were started again");
}

} // namespace tinkaf::cli
