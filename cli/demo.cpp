// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/held_out.hpp"
#include "cli/limits.hpp"
#include "cli/loss_curve.hpp"
#include "cli/progress.hpp"
#include "cli/report.hpp"
#include "cli/resources.hpp"
#include "cli/sft_task.hpp"
#include "cli/shell_words.hpp"
#include "cli/train_job.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

namespace tinkaf::cli {

namespace {

struct DemoArguments {
  TrainJob job;
  ServiceArguments service;
};

constexpr std::size_t shown_prompts = 5;

/// What a text looks like on one line.
std::string one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char x) { return x < 0x20 || x == 0x7F; }, ' ');
  return text;
}

void print_answers(const char* when, const std::vector<train::DataRow>& rows,
                   const HeldOutResult& result) {
  fmt::print("\n{} the training, on prompts that it is not trained on:\n", when);
  for (std::size_t index = 0; index < std::min(shown_prompts, rows.size()); ++index)
    fmt::print("  {}|{}\n", one_line(std::get<train::PromptCompletion>(rows[index].content).prompt),
               one_line(result.answers[index]));
  fmt::print("exact match {}: {}/{} = {:.2f}\n", when, result.exact, result.answers.size(),
             result.share());
  std::fflush(stdout);
}

/// A folder that no earlier demo has taken.
std::filesystem::path fresh_folder() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::filesystem::path{"tinkaf-demo"}
         / fmt::format("{}", std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
}

void print_end(const DemoArguments& arguments, const Connection& connection,
               const TrainResult& result, const std::string& prompt) {
  const auto& checkpoint = *result.outcome.checkpoint;
  fmt::print("\nthe run        {}\n", arguments.job.out.string());
  if (const auto* server = connection.server())
    fmt::print("checkpoints    {}\n", server->state_dir().string());
  fmt::print("to go on       {}\nto sample from {}\n\nWhat to type next:\n", checkpoint.state_path,
             checkpoint.sampler_path);
  const auto where = same_service(arguments.service);
  fmt::print("  {} sample --model-path {} --prompt {} --temperature 0{}\n", program_path(),
             shell_word(checkpoint.sampler_path), shell_word(prompt), where);
  fmt::print("  {} train sft --data YOUR.jsonl --steps 100 --lr {} --out my-run{}\n",
             program_path(), arguments.job.settings.adam.learning_rate, where);
}

Result<int> demo(DemoArguments arguments, const StopSignals& signals) {
  const auto data = find_resource("data/demo/train.jsonl");
  if (!data)
    return fail(data.error());
  arguments.job.data = *data;
  if (arguments.job.out.empty())
    arguments.job.out = fresh_folder();
  auto task = SftTask{};
  if (auto read = task.read(*data); !read)
    return fail(read.error());
  const auto held_out = train::read_rows(data->parent_path() / "held_out.jsonl");
  if (!held_out)
    return fail(held_out.error());

  auto connection = Connection::open(arguments.service, signals.token());
  if (!connection)
    return fail(connection.error());
  const auto model = connection->choose_model();
  if (!model)
    return fail(model.error());
  auto tokenizer = connection->tokenizer(*model);
  if (!tokenizer)
    return fail(tokenizer.error());
  const auto renderer = train::Renderer{std::move(*tokenizer)};
  if (const auto* server = connection->server())
    fmt::print("local server on {}, ", server->address());
  fmt::print("model {}, {} rows to train on, {} held out\n", *model, task.rows().size(),
             held_out->size());

  const auto base = connection->service().create_sampling_client(*model);
  if (!base)
    return fail(base.error());
  const auto before = try_held_out(*base, *held_out, renderer, signals.token());
  if (!before)
    return fail(before.error());
  print_answers("before", *held_out, *before);

  fmt::print("\n");
  const auto result = run_job(arguments.job, task, *connection, stdout, signals);
  if (!result)
    return fail(result.error());
  if (result->outcome.stopped || !result->outcome.checkpoint) {
    complain(fmt::format("stopped; {} steps are in {}", result->outcome.steps_done,
                         arguments.job.out.string()));
    return signals.exit_code();
  }
  fmt::print("\nloss a token, in nats\n{}",
             loss_curve(result->headlines, std::min<std::size_t>(terminal_width(stdout), 72), 12));

  const auto trained
      = connection->service().create_sampling_client(result->outcome.checkpoint->sampler_path);
  if (!trained)
    return fail(trained.error());
  const auto after = try_held_out(*trained, *held_out, renderer, signals.token());
  if (!after)
    return fail(after.error());
  print_answers("after", *held_out, *after);
  fmt::print("loss {:.4f} -> {:.4f}, exact match {:.2f} -> {:.2f}\n", result->outcome.first,
             result->outcome.last, before->share(), after->share());
  print_end(arguments, *connection, *result,
            std::get<train::PromptCompletion>(held_out->front().content).prompt);
  return exit_success;
}

} // namespace

void add_demo(CLI::App& parent, Command& run) {
  auto* command = parent.add_subcommand("demo", "Fine-tune a small model and watch it learn");
  const auto arguments = std::make_shared<DemoArguments>();
  auto& job = arguments->job;
  job.lora_rank = 32;
  job.settings.steps = 300;
  job.settings.save_every = 100;
  job.settings.batch_size = 32;
  job.settings.adam.learning_rate = 2e-3;
  command->add_option("--out", job.out, "Folder of the run [tinkaf-demo/TIME]");
  add_service_options(*command, arguments->service);
  command->add_option("--steps", job.settings.steps, "Optimizer steps")
      ->check(whole_number(1))
      ->capture_default_str();
  command->add_option("--seed", job.settings.seed, "Seed")
      ->check(whole_number(0))
      ->capture_default_str();
  command->callback([&run, arguments] {
    run = [arguments](const StopSignals& signals) {
      const auto done = demo(*arguments, signals);
      return done ? *done : report(done.error(), signals);
    };
  });
}

} // namespace tinkaf::cli
