// SPDX-License-Identifier: Apache-2.0
//
// Ten lines that train: connect, create an adapter, repeat gradient and step.

#include "client/service.hpp"

#include <iostream>

#include "examples/example_service.hpp"

using namespace tinkaf;

namespace {

Result<void> run(const examples::ExampleService& example) {
  auto service = Service::connect(example.options);
  if (!service)
    return fail(service.error());
  auto training = service->create_lora_training_client(example.model, {.rank = 8});
  if (!training)
    return fail(training.error());

  auto batch = make_batch(
      {Datum{.model_input = ModelInput::from_ints({1, 40, 41, 42, 43}),
             .loss_fn_inputs
             = {{"target_tokens", TensorData::of(std::vector<std::int64_t>{40, 41, 42, 43, 44})},
                {"weights", TensorData::of(std::vector<float>{1, 1, 1, 1, 1})}}}});
  for (int step = 0; step < 10; ++step) {
    auto loss = training->forward_backward(batch);
    auto updated = training->optim_step({.learning_rate = 1e-2}); // queued right behind it
    if (auto result = loss.get(); !result)
      return fail(result.error());
    else
      std::cout << "loss " << result->metrics.at("loss:sum") << '\n';
    if (auto result = updated.get(); !result)
      return fail(result.error());
  }
  return {};
}

} // namespace

int main() {
  return examples::run_example(run);
}
