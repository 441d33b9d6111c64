// SPDX-License-Identifier: Apache-2.0
#include "train/rl.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace tinkaf::train {

namespace {

/// Sums over a step's answers.
struct Totals {
  double reward = 0.0;
  std::size_t answers = 0;
  std::size_t action_tokens = 0;
  std::size_t prompt_tokens = 0;
  std::size_t mixed = 0;
  std::size_t all_good = 0;
  std::size_t all_bad = 0;
};

Columns columns_of(const Totals& totals, std::size_t groups, std::size_t rollouts) {
  const auto answers = static_cast<double>(totals.answers);
  const auto share
      = [&](std::size_t part) { return static_cast<double>(part) / static_cast<double>(groups); };
  return {{"reward/total", totals.reward / answers},
          {"by_group/frac_mixed", share(totals.mixed)},
          {"by_group/frac_all_good", share(totals.all_good)},
          {"by_group/frac_all_bad", share(totals.all_bad)},
          {"ac_tokens_per_turn", static_cast<double>(totals.action_tokens) / answers},
          {"ob_tokens_per_turn", static_cast<double>(totals.prompt_tokens) / answers},
          {"total_episodes", static_cast<std::int64_t>(totals.answers)},
          {"num_sequences", static_cast<std::int64_t>(rollouts)}};
}

} // namespace

std::string text_of(const SampledSequence& sequence, const text::Tokenizer& tokenizer) {
  auto tokens = std::span{sequence.tokens};
  if (sequence.stop_reason == StopReason::stop && !tokens.empty())
    tokens = tokens.first(tokens.size() - 1);
  return tokenizer.decode(tokens);
}

Result<void> validate(const RlSettings& settings) {
  if (!settings.reward)
    return fail(Errc::invalid_argument, "reward is missing");
  return validate(settings.policy.draw, 2);
}

RlRecipe::RlRecipe(const JobModel& model, SampleNotes notes, const std::vector<Prompt>& prompts,
                   text::Tokenizer tokenizer, RlSettings settings, NoticeSink notices)
    : PolicyRecipe(model, std::move(notes), prompts, std::move(settings.policy),
                   std::move(notices)),
      tokenizer_(std::move(tokenizer)), reward_(std::move(settings.reward)) {}

Result<PolicyRecipe::Judged> RlRecipe::judge(const StepPlan& plan, StepSamples samples) {
  auto& answers = samples.answers;
  auto result = Judged{};
  auto totals = Totals{};
  for (std::size_t at = 0; at < answers.size(); ++at) {
    const auto& prompt = prompts()[plan.rows[at]];
    auto rewards = std::vector<double>{};
    for (const auto& answer : answers[at]) {
      rewards.push_back(reward_(prompt.row, text_of(answer, tokenizer_)));
      if (!std::isfinite(rewards.back()))
        return fail(Errc::invalid_argument,
                    fmt::format("the reward of an answer to the prompt in line {} is {}, but must "
                                "be finite",
                                prompt.line, rewards.back()));
      totals.action_tokens += answer.tokens.size();
      totals.prompt_tokens += prompt.tokens.size();
    }
    const auto sum = std::accumulate(rewards.begin(), rewards.end(), 0.0);
    totals.reward += sum;
    totals.answers += rewards.size();
    const auto [least, most] = std::minmax_element(rewards.begin(), rewards.end());
    if (*least == *most) {
      ++(*least >= 0.5 ? totals.all_good : totals.all_bad);
      continue;
    }
    ++totals.mixed;
    const auto mean = sum / static_cast<double>(rewards.size());
    for (std::size_t k = 0; k < rewards.size(); ++k) {
      auto& answer = answers[at][k];
      const auto advantage = static_cast<float>(rewards[k] - mean);
      auto advantages = std::vector<float>(answer.tokens.size(), advantage);
      result.rollouts.push_back({prompt.tokens, std::move(answer), std::move(advantages)});
    }
  }
  result.columns = columns_of(totals, answers.size(), result.rollouts.size());
  return result;
}

} // namespace tinkaf::train
