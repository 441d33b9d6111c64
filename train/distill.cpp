// SPDX-License-Identifier: Apache-2.0
#include "train/distill.hpp"

#include <utility>

namespace tinkaf::train {

DistillRecipe::DistillRecipe(const JobModel& model, std::shared_ptr<JobJournal> journal,
                             const std::vector<Prompt>& prompts, DistillSettings settings,
                             NoticeSink notices)
    : PolicyRecipe(model, std::move(journal), prompts, std::move(settings.policy),
                   std::move(notices)),
      teacher_path_(std::move(settings.teacher)) {}

Result<PolicyRecipe::Judged> DistillRecipe::judge(const StepPlan& plan, Answers answers,
                                                  Patience& patience) {
  if (!teacher_) {
    auto teacher = samplers().open(teacher_path_);
    if (!teacher)
      return fail(std::move(teacher.error()));
    teacher_ = std::move(*teacher);
  }
  auto result = Judged{};
  auto texts = std::vector<std::vector<Token>>{};
  for (std::size_t at = 0; at < answers.size(); ++at)
    for (auto& answer : answers[at]) {
      const auto& prompt = prompts()[plan.rows[at]].tokens;
      auto& text = texts.emplace_back(prompt);
      text.insert(text.end(), answer.tokens.begin(), answer.tokens.end());
      result.rollouts.push_back({prompt, std::move(answer), {}});
    }
  const auto scores = score(*teacher_, texts, patience);
  if (!scores)
    return fail(scores.error());
  auto sum = 0.0;
  auto tokens = std::int64_t{0};
  for (std::size_t index = 0; index < result.rollouts.size(); ++index) {
    auto& rollout = result.rollouts[index];
    const auto before = rollout.prompt.size() - 1;
    for (std::size_t at = 0; at < rollout.answer.tokens.size(); ++at) {
      const auto difference = (*rollout.answer.logprobs)[at] - (*scores)[index][before + at];
      rollout.advantages.push_back(-difference);
      sum += double{difference};
      ++tokens;
    }
  }
  result.columns = {{"reverse_kl", sum / static_cast<double>(tokens)},
                    {"num_sequences", static_cast<std::int64_t>(result.rollouts.size())},
                    {"num_tokens", tokens}};
  return result;
}

} // namespace tinkaf::train
