// SPDX-License-Identifier: Apache-2.0
//
// Each result is waited for by a poller of its own. Here the first ten pollers break as they start,
// and all results come all the same, each once.

#include "client/service.hpp"

#include <atomic>
#include <iostream>

#include "examples/example_service.hpp"

using namespace tinkaf;
using namespace std::chrono_literals;

namespace {

/// Breaks the first pollers that are started; the later ones live.
StartSink break_pollers(int count) {
  auto left = std::make_shared<std::atomic<int>>(count);
  return [left](std::string_view kind, const std::function<void()>& break_it) {
    if (kind == "tinkaf.poller" && left->fetch_sub(1) > 0)
      break_it();
  };
}

Result<void> run(const examples::ExampleService& example) {
  auto options = example.options;
  options.restarts.pollers
      = {.max_restarts = 10, .first_delay = 10ms, .on_start = break_pollers(10)};
  auto service = Service::connect(options);
  if (!service)
    return fail(service.error());
  auto training = service->create_lora_training_client(example.model, {.rank = 8});
  if (!training)
    return fail(training.error());

  auto batch = make_batch(
      {Datum{.model_input = ModelInput::from_ints({1, 40, 41}),
             .loss_fn_inputs
             = {{"target_tokens", TensorData::of(std::vector<std::int64_t>{40, 41, 42})}}}});
  std::vector<Future<ForwardBackwardOutput>> losses;
  std::vector<Future<OptimStepResponse>> steps;
  for (int i = 0; i < 3; ++i) {
    losses.push_back(training->forward_backward(batch));
    steps.push_back(training->optim_step({.learning_rate = 1e-2}));
  }
  for (std::size_t i = 0; i < losses.size(); ++i) {
    auto loss = losses[i].get();
    auto step = steps[i].get();
    if (!loss || !step)
      return fail(loss ? step.error() : loss.error());
    std::cout << "loss " << loss->metrics.at("loss:sum") << '\n';
  }

  auto metrics = service->metrics().get();
  auto tree = service->supervision_tree().get();
  if (!metrics || !tree)
    return fail(metrics ? tree.error() : metrics.error());
  std::cout << metrics->poller_restarts << " pollers were started again\n" << to_text(*tree);
  return {};
}

} // namespace

int main() {
  return examples::run_example(run);
}
