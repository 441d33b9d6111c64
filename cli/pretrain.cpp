// SPDX-License-Identifier: Apache-2.0
#include "server/model/pretrain.hpp"

#include "cli/commands.hpp"
#include "cli/limits.hpp"
#include "cli/report.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

namespace tinkaf::cli {

namespace {

void show(const model::PretrainProgress& progress) {
  fmt::print("step {}/{}  loss {:.4f} nats/token", progress.step, progress.steps,
             progress.training_loss);
  for (const auto& [source, loss] : progress.held_out)
    fmt::print("  {} {:.4f} nats/byte", source.empty() ? "held-out" : source, loss);
  fmt::print("\n");
  std::fflush(stdout);
}

int pretrain(const model::PretrainOptions& options, const StopSignals& signals) {
  const auto made = model::pretrain(options, show, signals.token());
  if (!made && signals.received() != 0) {
    complain(fmt::format("stopped; the same command goes on from {}", options.work.string()));
    return signals.exit_code();
  }
  if (!made)
    return report(made.error(), signals);
  fmt::print("model saved in {}\n", options.output.string());
  return exit_success;
}

} // namespace

void add_pretrain(CLI::App& parent, Command& run) {
  const auto options = std::make_shared<model::PretrainOptions>();
  auto* command = parent.add_subcommand(
      "pretrain", "Make the shipped base model again (needs `./dev setup pretrain`; takes hours)");
  command->add_option("--out", options->output, "Folder for the model")->required();
  command->add_option("--work", options->work, "Folder for the state of the run [OUT/work]");
  command->add_option("--steps", options->steps, "Optimizer steps")
      ->check(whole_number(1))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Seed")
      ->check(whole_number(0))
      ->capture_default_str();
  command->add_option("--threads", options->threads, "Threads; 0 takes all cores")
      ->check(whole_number(0, most_threads))
      ->capture_default_str();
  command->callback([&run, options] {
    if (options->work.empty())
      options->work = options->output / "work";
    run = [options](const StopSignals& signals) { return pretrain(*options, signals); };
  });
}

} // namespace tinkaf::cli
