// SPDX-License-Identifier: Apache-2.0
#include "train/distill.hpp"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace tinkaf::train {

Result<void> validate(const DistillSettings& settings) {
  if (settings.teacher.empty())
    return fail(Errc::invalid_argument,
                "teacher is empty, but must be a base model or a tinker://… path");
  return validate(settings.policy.draw);
}

DistillRecipe::DistillRecipe(const JobModel& model, SampleNotes notes,
                             const std::vector<Prompt>& prompts, DistillSettings settings,
                             NoticeSink notices)
    : PolicyRecipe(model, std::move(notes), prompts, std::move(settings.policy),
                   std::move(notices)),
      teacher_path_(std::move(settings.teacher)) {}

Result<std::vector<std::vector<float>>>
DistillRecipe::score_answers(const StepPlan& plan, const Answers& answers, Patience& patience) {
  if (!teacher_) {
    auto teacher = samplers().open(teacher_path_);
    if (!teacher)
      return fail(std::move(teacher.error()));
    teacher_ = std::move(*teacher);
  }
  auto texts = std::vector<std::vector<Token>>{};
  for (std::size_t at = 0; at < answers.size(); ++at)
    for (const auto& answer : answers[at]) {
      auto& text = texts.emplace_back(prompts()[plan.rows[at]].tokens);
      text.insert(text.end(), answer.tokens.begin(), answer.tokens.end());
    }
  auto scores = score(*teacher_, texts, patience);
  if (!scores)
    return scores;
  // What the teacher thinks of the prompt is of no use.
  auto text = scores->begin();
  for (std::size_t at = 0; at < answers.size(); ++at)
    for (std::size_t k = 0; k < answers[at].size(); ++k, ++text)
      text->erase(text->begin(), text->end() - std::ssize(answers[at][k].tokens));
  return scores;
}

Result<PolicyRecipe::Judged> DistillRecipe::judge(const StepPlan& plan, StepSamples samples) {
  auto result = Judged{};
  auto sum = 0.0;
  auto tokens = std::int64_t{0};
  for (std::size_t at = 0; at < samples.answers.size(); ++at)
    for (auto& answer : samples.answers[at]) {
      const auto index = result.rollouts.size();
      if (index >= samples.scores.size() || samples.scores[index].size() != answer.tokens.size())
        return fail(Errc::io_error,
                    fmt::format("samples.jsonl has no log-probabilities of the teacher for the {} "
                                "tokens of answer {} of step {}",
                                answer.tokens.size(), index, plan.step));
      auto advantages = std::vector<float>{};
      for (std::size_t k = 0; k < answer.tokens.size(); ++k) {
        const auto difference = (*answer.logprobs)[k] - samples.scores[index][k];
        advantages.push_back(-difference);
        sum += double{difference};
        ++tokens;
      }
      result.rollouts.push_back(
          {prompts()[plan.rows[at]].tokens, std::move(answer), std::move(advantages)});
    }
  result.columns = {{"reverse_kl", sum / static_cast<double>(tokens)},
                    {"num_sequences", static_cast<std::int64_t>(result.rollouts.size())},
                    {"num_tokens", tokens}};
  return result;
}

} // namespace tinkaf::train
