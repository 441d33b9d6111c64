// SPDX-License-Identifier: Apache-2.0
//
// Trains on losses of one's own: those of `my_losses.cpp`.

#include "client/service.hpp"

#include <iostream>

#include "examples/example_service.hpp"
#include "examples/my_losses.hpp"

using namespace tinkaf;
using namespace tinkaf::losses;

namespace {

Datum answer(std::vector<std::int64_t> tokens) {
  std::vector<Token> input{1};
  input.insert(input.end(), tokens.begin(), tokens.end() - 1);
  return {.model_input = ModelInput::from_ints(std::move(input)),
          .loss_fn_inputs = {{"target_tokens", TensorData::of(std::move(tokens))}}};
}

/// What the model says of each target token now.
Result<TokenValues> logprobs_now(const TrainingClient& training, const Batch& batch) {
  auto output = training.forward(batch).get();
  if (!output)
    return fail(output.error());
  TokenValues out;
  for (const auto& fields : output->loss_fn_outputs)
    out.push_back(*fields.at("logprobs").floats());
  return out;
}

Result<void> train(const TrainingClient& training, const Batch& batch, const CustomLossFn& custom,
                   const char* metric) {
  for (int step = 0; step < 5; ++step) {
    auto loss = training.forward_backward_custom(batch, custom);
    auto updated = training.optim_step({.learning_rate = 1e-2});
    auto result = loss.get();
    if (!result)
      return fail(result.error());
    if (auto done = updated.get(); !done)
      return fail(done.error());
    std::cout << metric << ' ' << result->metrics.at(metric) << '\n';
  }
  return {};
}

Result<void> run(const examples::ExampleService& example) {
  auto service = Service::connect(example.options);
  if (!service)
    return fail(service.error());
  auto training = service->create_lora_training_client(example.model, {.rank = 8});
  if (!training)
    return fail(training.error());

  auto pairs = make_batch(
      {answer({40, 41, 42}), answer({50, 51}), answer({60, 61}), answer({70, 71, 72, 73})});
  auto reference = logprobs_now(*training, pairs);
  if (!reference)
    return fail(reference.error());
  if (auto done = train(*training, pairs, custom_loss(my_dpo(*reference, 0.1)), "my_dpo"); !done)
    return done;
  auto regularized_dpo = dpo_near_reference(*reference);
  if (!regularized_dpo)
    return fail(regularized_dpo.error());
  if (auto done = train(*training, pairs, custom_loss(*regularized_dpo), "loss_total"); !done)
    return done;

  Fields fields{{"logprobs", *reference},
                {"advantages", {{1, 1, 1}, {0, 0}, {-1, -1}, {2, 2, 2, 2}}}};
  return train(*training, pairs, custom_loss(my_ppo, fields), "custom_loss");
}

} // namespace

int main() {
  return examples::run_example(run);
}
