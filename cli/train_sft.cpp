// SPDX-License-Identifier: Apache-2.0
#include "cli/limits.hpp"
#include "cli/sft_task.hpp"
#include "cli/train_command.hpp"

#include <memory>

namespace tinkaf::cli {

void add_train_sft(CLI::App& train, Command& run) {
  auto* command = train.add_subcommand(
      "sft", "Supervised fine-tuning on prompts with completions, or on chats");
  const auto arguments = std::make_shared<TrainArguments>();
  arguments->job.settings.save_every = 50;
  add_train_options(*command, *arguments, "{\"prompt\", \"completion\"} or {\"messages\"}");
  const auto renderer = std::make_shared<std::string>();
  command
      ->add_option("--renderer", *renderer,
                   "How chats look to the model: chatml, llama3, qwen3, "
                   "qwen3_disable_thinking or qwen3_instruct [by the model's name]")
      ->check(one_of({"chatml", "llama3", "qwen3", "qwen3_disable_thinking", "qwen3_instruct"}));
  set_training(*command, run, arguments, [renderer]() -> Result<std::unique_ptr<TrainTask>> {
    return std::make_unique<SftTask>(*renderer);
  });
}

} // namespace tinkaf::cli
