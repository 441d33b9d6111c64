// SPDX-License-Identifier: Apache-2.0
#include "train/dpo.hpp"

#include "losses/dpo.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "train/client_backend.hpp"

namespace tinkaf::train {

namespace {

class OpenDpoStep final : public OpenStep {
public:
  OpenDpoStep(StepResult result, Pending<ForwardBackwardOutput> loss,
              Pending<OptimStepResponse> optim_step)
      : result_(std::move(result)), loss_(std::move(loss)), optim_step_(std::move(optim_step)) {}

  Result<StepResult> finish(Patience& patience) override {
    const auto output = patience.wait(loss_);
    if (!output)
      return fail(output.error());
    const auto updated = patience.wait(optim_step_);
    if (!updated)
      return fail(updated.error());
    for (const auto* name : {"dpo_loss", "accuracy", "margin", "chosen_reward", "rejected_reward"})
      result_.columns.emplace_back(name, output->metrics.at(name));
    result_.columns.insert(result_.columns.end(), updated->metrics.begin(), updated->metrics.end());
    return std::move(result_);
  }

private:
  StepResult result_;
  Pending<ForwardBackwardOutput> loss_;
  Pending<OptimStepResponse> optim_step_;
};

/// All tokens of an example: what the model reads, and the last that it is to predict.
Result<std::vector<Token>> text_of(const Example& example) {
  auto result = to_ints(example.datum.model_input);
  if (!result)
    return result;
  const auto& targets = *example.datum.loss_fn_inputs.at("target_tokens").ints();
  result->push_back(static_cast<Token>(targets.back()));
  return result;
}

} // namespace

Result<void> validate(const DpoSettings& settings) {
  if (settings.reference.empty())
    return fail(Errc::invalid_argument,
                "reference is empty, but must be a base model or a tinker://… path");
  if (!std::isfinite(settings.beta) || settings.beta <= 0)
    return fail(Errc::invalid_argument,
                fmt::format("beta is {}, but must be above 0", settings.beta));
  return {};
}

DpoRecipe::DpoRecipe(const JobModel& model, SampleNotes notes,
                     const std::vector<Preference>& preferences, DpoSettings settings)
    : client_(model.client), samplers_(model.service, std::move(notes.journal)),
      samples_(std::move(notes.samples)), preferences_(preferences),
      settings_(std::move(settings)) {}

Result<StepSamples> DpoRecipe::ask_reference(const StepPlan& plan, const Texts& texts,
                                             Patience& patience) {
  auto known = samples_.find(plan.step);
  if (!known)
    return fail(std::move(known.error()));
  if (*known)
    return std::move(**known);
  if (!reference_) {
    auto reference = samplers_.open(settings_.reference);
    if (!reference)
      return fail(std::move(reference.error()));
    reference_ = std::move(*reference);
  }
  auto scores = score(*reference_, texts, patience);
  if (!scores)
    return fail(std::move(scores.error()));
  auto samples = StepSamples{.step = plan.step, .answers = {}, .scores = std::move(*scores)};
  if (auto noted = samples_.add(samples); !noted)
    return fail(std::move(noted.error()));
  return samples;
}

Result<std::unique_ptr<OpenStep>> DpoRecipe::submit(const StepPlan& plan, Patience& patience) {
  auto data = std::vector<Datum>{};
  auto texts = Texts{};
  auto result = StepResult{.turns = 3};
  for (const auto row : plan.rows)
    for (const auto* example : {&preferences_[row].chosen, &preferences_[row].rejected}) {
      auto text = text_of(*example);
      if (!text)
        return fail(std::move(text.error()));
      data.push_back(example->datum);
      texts.push_back(std::move(*text));
      result.tokens += static_cast<std::int64_t>(example->tokens());
    }
  result.columns
      = {{"num_sequences", static_cast<std::int64_t>(data.size())}, {"num_tokens", result.tokens}};
  auto reference = ask_reference(plan, texts, patience);
  if (!reference)
    return fail(std::move(reference.error()));
  auto formula = losses::dpo({.beta = settings_.beta, .reference = std::move(reference->scores)});
  if (!formula)
    return fail(std::move(formula.error()));
  auto loss = client_.forward_backward_custom(make_batch(std::move(data)),
                                              losses::custom_loss(std::move(*formula)));
  auto optim_step = client_.optim_step(plan.adam);
  return std::make_unique<OpenDpoStep>(std::move(result), pending(std::move(loss)),
                                       pending(std::move(optim_step)));
}

} // namespace tinkaf::train
