// SPDX-License-Identifier: Apache-2.0
#include "cli/limits.hpp"
#include "cli/prompt_task.hpp"
#include "cli/train_command.hpp"

#include <memory>
#include <utility>

namespace tinkaf::cli {

namespace {

class RlTask final : public PromptTask {
public:
  RlTask(DrawOptions draw, std::string reward) : PromptTask(draw), reward_(std::move(reward)) {}

  [[nodiscard]] std::string name() const override {
    return "rl";
  }

  [[nodiscard]] std::vector<ToldColumn> told() const override {
    return {{"reward/total", "reward"}};
  }

private:
  [[nodiscard]] JobIdentity own_options() const override {
    return {{"--reward", reward_}};
  }

  [[nodiscard]] train::DurableRun make(const TrainTarget& target,
                                       std::shared_ptr<const std::vector<train::Prompt>> prompts,
                                       text::Tokenizer tokenizer,
                                       train::PolicySettings settings) const override {
    return train::rl_run(target.model, target.settings, std::move(prompts), std::move(tokenizer),
                         {std::move(settings), *train::parse_reward(reward_)}, notices_to_stderr());
  }

  std::string reward_;
};

} // namespace

void add_train_rl(CLI::App& train, Command& run) {
  auto* command = train.add_subcommand(
      "rl", "Reinforcement learning: of several answers, the better ones become likelier");
  const auto arguments = std::make_shared<TrainArguments>();
  arguments->job.settings.save_every = 20;
  arguments->job.settings.adam.learning_rate = 4e-5;
  arguments->schedule = "constant";
  add_train_options(*command, *arguments, "{\"prompt\", \"completion\"}, the right answer,");
  const auto draw = std::make_shared<DrawOptions>();
  add_draw_options(*command, *draw, 2);
  const auto reward = std::make_shared<std::string>("exact");
  command
      ->add_option("--reward", *reward,
                   "What an answer earns: exact, 1 if it is the completion; prefix, the share of "
                   "the completion that it begins with")
      ->check(one_of({"exact", "prefix"}))
      ->capture_default_str();
  set_training(*command, run, arguments, [draw, reward]() -> Result<std::unique_ptr<TrainTask>> {
    return std::make_unique<RlTask>(*draw, *reward);
  });
}

} // namespace tinkaf::cli
