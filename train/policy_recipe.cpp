// SPDX-License-Identifier: Apache-2.0
#include "train/policy_recipe.hpp"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <utility>

#include "train/client_backend.hpp"

namespace tinkaf::train {

namespace {

/// The operations behind the save of a step.
struct Update {
  Pending<ForwardBackwardOutput> forward_backward;
  Pending<OptimStepResponse> optim_step;
};

class OpenPolicyStep final : public OpenStep {
public:
  OpenPolicyStep(std::vector<Rollout> rollouts, StepResult result, std::optional<Update> update)
      : rollouts_(std::move(rollouts)), result_(std::move(result)), update_(std::move(update)) {}

  Result<StepResult> finish(Patience& patience) override {
    auto kl = SampleTrainKl{std::numeric_limits<double>::quiet_NaN(),
                            std::numeric_limits<double>::quiet_NaN()};
    auto optimizer = Metrics{};
    result_.turns = 1;
    if (update_) {
      auto output = patience.wait(update_->forward_backward);
      if (!output)
        return fail(std::move(output.error()));
      auto updated = patience.wait(update_->optim_step);
      if (!updated)
        return fail(std::move(updated.error()));
      auto measured = measure_kl(rollouts_, *output);
      if (!measured)
        return fail(std::move(measured.error()));
      kl = *measured;
      optimizer = std::move(updated->metrics);
      result_.turns = 3;
    }
    auto& columns = result_.columns;
    columns.emplace_back("optim/kl_sample_train_v1", kl.v1);
    columns.emplace_back("optim/kl_sample_train_v2", kl.v2);
    columns.insert(columns.end(), optimizer.begin(), optimizer.end());
    return std::move(result_);
  }

private:
  std::vector<Rollout> rollouts_;
  StepResult result_;
  std::optional<Update> update_;
};

} // namespace

PolicyRecipe::PolicyRecipe(const JobModel& model, std::shared_ptr<JobJournal> journal,
                           const std::vector<Prompt>& prompts, PolicySettings settings,
                           NoticeSink notices)
    : client_(model.client), samplers_(model.service, std::move(journal)), prompts_(prompts),
      settings_(std::move(settings)), notices_(std::move(notices)) {}

Result<PolicyRecipe::Answers> PolicyRecipe::draw_answers(const StepPlan& plan, Patience& patience) {
  auto saved = patience.wait(pending(client_.save_weights_for_sampler(
      fmt::format("policy_{}", plan.step), {.ttl = settings_.sampler_ttl})));
  if (!saved)
    return fail(std::move(saved.error()));
  if (!saved->path || saved->path->empty())
    return fail(Errc::protocol_error, "the service saved weights to sample from without a path");
  const auto sampler = samplers_.open(*saved->path);
  if (!sampler)
    return fail(sampler.error());
  return draw(*sampler, prompts_, plan.rows, plan.step, settings_.draw, patience);
}

Result<std::unique_ptr<OpenStep>> PolicyRecipe::submit(const StepPlan& plan, Patience& patience) {
  auto answers = draw_answers(plan, patience);
  if (!answers)
    return fail(std::move(answers.error()));
  auto result = StepResult{};
  for (std::size_t at = 0; at < plan.rows.size(); ++at)
    for (const auto& answer : (*answers)[at])
      result.tokens += static_cast<std::int64_t>(prompts_[plan.rows[at]].tokens.size()
                                                 + answer.tokens.size());
  auto judged = judge(plan, std::move(*answers), patience);
  if (!judged)
    return fail(std::move(judged.error()));
  result.columns = std::move(judged->columns);
  auto update = std::optional<Update>{};
  if (!judged->rollouts.empty()) {
    auto data = std::vector<Datum>{};
    for (const auto& rollout : judged->rollouts)
      data.push_back(policy_datum(rollout));
    update.emplace();
    update->forward_backward = pending(
        client_.forward_backward(make_batch(std::move(data)), LossFn::importance_sampling));
    update->optim_step = pending(client_.optim_step(plan.adam));
  } else if (notices_) {
    notices_({Severity::warning,
              fmt::format("step {}: all answers to a prompt are equally good, so there is nothing "
                          "to learn from",
                          plan.step)});
  }
  return std::make_unique<OpenPolicyStep>(std::move(judged->rollouts), std::move(result),
                                          std::move(update));
}

} // namespace tinkaf::train
