// SPDX-License-Identifier: Apache-2.0
#include "train/sft.hpp"

#include <utility>

#include "train/metrics.hpp"

namespace tinkaf::train {

namespace {

class OpenSftStep final : public OpenStep {
public:
  OpenSftStep(std::vector<const Example*> batch, Pending<ForwardBackwardOutput> forward_backward,
              Pending<OptimStepResponse> optim_step)
      : batch_(std::move(batch)), forward_backward_(std::move(forward_backward)),
        optim_step_(std::move(optim_step)) {}

  Result<StepResult> finish(Patience& patience) override {
    auto output = patience.wait(forward_backward_);
    if (!output)
      return fail(std::move(output.error()));
    auto optimizer = patience.wait(optim_step_);
    if (!optimizer)
      return fail(std::move(optimizer.error()));
    auto metrics = measure(batch_, *output);
    if (!metrics)
      return fail(std::move(metrics.error()));
    return StepResult{columns_of(*metrics, optimizer->metrics), metrics->num_tokens, 2};
  }

private:
  std::vector<const Example*> batch_;
  Pending<ForwardBackwardOutput> forward_backward_;
  Pending<OptimStepResponse> optim_step_;
};

} // namespace

SftRecipe::SftRecipe(Backend& backend, const std::vector<Example>& examples)
    : backend_(backend), examples_(examples) {}

Result<std::unique_ptr<OpenStep>> SftRecipe::submit(const StepPlan& plan, Patience& /*patience*/) {
  auto batch = std::vector<const Example*>{};
  auto data = std::vector<Datum>{};
  for (const auto index : plan.rows) {
    batch.push_back(&examples_[index]);
    data.push_back(examples_[index].datum);
  }
  auto forward_backward = backend_.forward_backward(make_batch(std::move(data)));
  auto optim_step = backend_.optim_step(plan.adam);
  return std::make_unique<OpenSftStep>(std::move(batch), std::move(forward_backward),
                                       std::move(optim_step));
}

Result<RunOutcome> run_sft(Backend& backend, const std::vector<Example>& examples,
                           const RunSettings& settings, RunFolder& folder, const OnStep& on_step,
                           std::stop_token stop) {
  auto recipe = SftRecipe{backend, examples};
  return run_steps(recipe, backend, examples.size(), settings, folder, on_step, std::move(stop));
}

} // namespace tinkaf::train
