// SPDX-License-Identifier: Apache-2.0
//
// Losses of your own, as formulas: DPO and PPO written by hand, and a ready loss with regularizers.

#include "client/service.hpp"
#include "losses/dpo.hpp"
#include "losses/policy_losses.hpp"
#include "losses/regularized.hpp"
#include "losses/regularizers.hpp"

#include <iostream>

#include "examples/example_service.hpp"

using namespace tinkaf;
using namespace tinkaf::losses;

namespace {

// Data 0, 2, 4 … are chosen, each followed by the rejected one.
Formula my_dpo(TokenValues reference, double beta) {
  return [reference, beta](const FormulaInput& in) -> FormulaValue {
    Var loss = in.tape.constant(0.0);
    for (std::size_t i = 0; i + 1 < in.logprobs.size(); i += 2) {
      Var chosen = sum(in.logprobs[i] - in.of(reference, i, "reference"));
      Var rejected = sum(in.logprobs[i + 1] - in.of(reference, i + 1, "reference"));
      loss = loss - log_sigmoid(beta * (chosen - rejected));
    }
    return {loss, {{"my_dpo", loss}}};
  };
}

// The sampler's logprobs and the advantages come beside the formula, see below.
FormulaValue my_ppo(const FormulaInput& in) {
  Var loss = in.tape.constant(0.0);
  for (std::size_t i = 0; i < in.logprobs.size(); ++i) {
    Var advantages = in.field(i, "advantages");
    Var ratio = exp(in.logprobs[i] - in.field(i, "logprobs"));
    loss = loss - sum(min(ratio * advantages, clamp(ratio, 0.8, 1.2) * advantages));
  }
  return {.loss = loss};
}

// A ready loss and two terms beside it.
Result<Formula> dpo_near_reference(const TokenValues& reference) {
  auto base = dpo({.beta = 0.1, .reference = reference});
  auto kl = kl_divergence({.reference = reference, .direction = KlOptions::Direction::symmetric});
  if (!base || !kl)
    return fail(base ? kl.error() : base.error());
  return regularized(*base, {{.name = "kl", .weight = 0.05, .value = *kl},
                             {.name = "l1", .weight = 1e-4, .value = l1_sparsity()}});
}

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

Result<void> run(const ClientOptions& options, const std::string& base_model) {
  auto service = Service::connect(options);
  if (!service)
    return fail(service.error());
  auto training = service->create_lora_training_client(base_model, {.rank = 8});
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
  auto example = examples::ExampleService::start();
  auto done = example ? run(example->options, example->model) : fail(example.error());
  if (!done)
    std::cerr << to_string(done.error()) << '\n';
  return done ? 0 : 1;
}
