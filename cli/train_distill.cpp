// SPDX-License-Identifier: Apache-2.0
#include "cli/limits.hpp"
#include "cli/prompt_task.hpp"
#include "cli/train_command.hpp"
#include "cli/train_weights.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <utility>

#include "train/tokenizers_equal.hpp"

namespace tinkaf::cli {

namespace {

struct TeacherOptions {
  std::string teacher;
  std::filesystem::path tokenizer;
};

class DistillTask final : public PromptTask {
public:
  DistillTask(DrawOptions draw, TeacherOptions teacher)
      : PromptTask(draw), teacher_(std::move(teacher)) {}

  [[nodiscard]] std::string name() const override {
    return "distill";
  }

  [[nodiscard]] std::vector<ToldColumn> told() const override {
    return {{"reverse_kl", "reverse KL"}};
  }

private:
  [[nodiscard]] JobIdentity own_options() const override {
    return {{"--teacher", teacher_.teacher}};
  }

  [[nodiscard]] Result<void> check(const TrainTarget& target,
                                   const text::Tokenizer& tokenizer) const override {
    const auto base = base_model_of(target.connection, "--teacher", teacher_.teacher);
    if (!base)
      return fail(base.error());
    if (*base == target.model.base_model)
      return {};
    const auto tokens = teacher_.tokenizer.empty() ? target.connection.shipped_tokenizer(*base)
                                                   : text::Tokenizer::load(teacher_.tokenizer);
    if (!tokens)
      return fail(tokens.error().code,
                  fmt::format("--teacher {}: {}; give it with --teacher-tokenizer FILE",
                              teacher_.teacher, tokens.error().message));
    if (const auto difference = train::token_difference(tokenizer, *tokens))
      return fail(Errc::invalid_argument,
                  fmt::format("--teacher {} has other tokens than {}: {}", teacher_.teacher,
                              target.model.base_model, *difference));
    return {};
  }

  [[nodiscard]] train::DurableRun make(const TrainTarget& target,
                                       std::shared_ptr<const std::vector<train::Prompt>> prompts,
                                       text::Tokenizer /*tokenizer*/,
                                       train::PolicySettings settings) const override {
    return train::distill_run(target.model, target.settings, std::move(prompts),
                              {std::move(settings), teacher_.teacher}, notices_to_stderr());
  }

  TeacherOptions teacher_;
};

} // namespace

void add_train_distill(CLI::App& train, Command& run) {
  auto* command = train.add_subcommand(
      "distill", "Distillation: the model becomes like a teacher where it answers itself");
  const auto arguments = std::make_shared<TrainArguments>();
  arguments->job.settings.save_every = 20;
  arguments->schedule = "constant";
  add_train_options(*command, *arguments,
                    "{\"prompt\", \"completion\"}, of which the prompt counts,");
  const auto draw = std::make_shared<DrawOptions>(DrawOptions{.group = 4});
  add_draw_options(*command, *draw, 1);
  const auto teacher = std::make_shared<TeacherOptions>();
  command
      ->add_option("--teacher", teacher->teacher,
                   "Whom it is to become like: a base model, the folder of a run, or a "
                   "tinker://…/sampler_weights/… path")
      ->required()
      ->check(not_empty());
  command->add_option("--teacher-tokenizer", teacher->tokenizer,
                      "The teacher's tokenizer.json [that of the shipped model]");
  set_training(*command, run, arguments, [draw, teacher]() -> Result<std::unique_ptr<TrainTask>> {
    auto found = find_sampler("--teacher", teacher->teacher);
    if (!found)
      return fail(std::move(found.error()));
    return std::make_unique<DistillTask>(*draw, TeacherOptions{*found, teacher->tokenizer});
  });
}

} // namespace tinkaf::cli
