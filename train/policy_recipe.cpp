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
  OpenPolicyStep(std::vector<Rollout> rollouts, StepResult result,
                 Pending<SaveWeightsForSamplerResponse> saved, std::optional<Update> update)
      : rollouts_(std::move(rollouts)), result_(std::move(result)), saved_(std::move(saved)),
        update_(std::move(update)) {}

  Result<StepResult> finish(Patience& patience) override {
    auto kl = SampleTrainKl{std::numeric_limits<double>::quiet_NaN(),
                            std::numeric_limits<double>::quiet_NaN()};
    auto optimizer = Metrics{};
    if (auto saved = patience.wait(saved_); !saved)
      return fail(std::move(saved.error()));
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
  Pending<SaveWeightsForSamplerResponse> saved_;
  std::optional<Update> update_;
};

/// Checks that noted samples are those of the step's batch: a file may have been changed.
Result<void> check_samples(const StepSamples& samples, const StepPlan& plan) {
  if (samples.answers.size() != plan.rows.size())
    return fail(Errc::io_error,
                fmt::format("samples.jsonl has answers to {} prompts for step {}, but the step has "
                            "{}",
                            samples.answers.size(), plan.step, plan.rows.size()));
  for (const auto& group : samples.answers)
    for (const auto& answer : group)
      if (auto good = check_answer(answer); !good)
        return good;
  return {};
}

} // namespace

PolicyRecipe::PolicyRecipe(const JobModel& model, SampleNotes notes,
                           const std::vector<Prompt>& prompts, PolicySettings settings,
                           NoticeSink notices)
    : client_(model.client), samplers_(model.service, std::move(notes.journal)),
      samples_(std::move(notes.samples)), prompts_(prompts), settings_(std::move(settings)),
      notices_(std::move(notices)) {}

Pending<SaveWeightsForSamplerResponse> PolicyRecipe::save_policy(const StepPlan& plan) {
  const auto name = fmt::format("policy_{}{}", plan.step, plan.after_stop ? "_again" : "");
  return pending(client_.save_weights_for_sampler(name, {.ttl = settings_.sampler_ttl}));
}

std::size_t PolicyRecipe::begin_given_up(const StepPlan& plan) {
  if (samples_.has(plan.step))
    return 0;
  static_cast<void>(save_policy(plan));
  return 1;
}

Result<std::vector<std::vector<float>>> PolicyRecipe::score_answers(const StepPlan& /*plan*/,
                                                                    const Answers& /*answers*/,
                                                                    Patience& /*patience*/) {
  return {};
}

Result<StepSamples>
PolicyRecipe::draw_samples(const StepPlan& plan,
                           const Pending<SaveWeightsForSamplerResponse>& pending_save,
                           Patience& patience) {
  auto saved = patience.wait(pending_save);
  if (!saved)
    return fail(std::move(saved.error()));
  if (!saved->path || saved->path->empty())
    return fail(Errc::protocol_error, "the service saved weights to sample from without a path");
  const auto sampler = samplers_.open(*saved->path);
  if (!sampler)
    return fail(sampler.error());
  auto answers = draw(*sampler, prompts_, plan.rows, plan.step, settings_.draw, patience);
  if (!answers)
    return fail(std::move(answers.error()));
  auto scores = score_answers(plan, *answers, patience);
  if (!scores)
    return fail(std::move(scores.error()));
  auto samples = StepSamples{plan.step, std::move(*answers), std::move(*scores)};
  if (auto noted = samples_.add(samples); !noted)
    return fail(std::move(noted.error()));
  return samples;
}

Result<std::unique_ptr<OpenStep>> PolicyRecipe::submit(const StepPlan& plan, Patience& patience) {
  auto known = samples_.find(plan.step);
  if (!known)
    return fail(std::move(known.error()));
  auto saved = save_policy(plan);
  auto samples
      = *known ? Result<StepSamples>{std::move(**known)} : draw_samples(plan, saved, patience);
  if (!samples)
    return fail(std::move(samples.error()));
  if (auto fits = check_samples(*samples, plan); !fits)
    return fail(std::move(fits.error()));
  auto result = StepResult{};
  for (std::size_t at = 0; at < plan.rows.size(); ++at)
    for (const auto& answer : samples->answers[at])
      result.tokens += static_cast<std::int64_t>(prompts_[plan.rows[at]].tokens.size()
                                                 + answer.tokens.size());
  auto judged = judge(plan, std::move(*samples));
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
                                          std::move(saved), std::move(update));
}

} // namespace tinkaf::train
