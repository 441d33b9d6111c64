// SPDX-License-Identifier: Apache-2.0
//
// Stages, each from the weights of the one before with a fresh optimizer: fine-tuning until some
// answers are right, then reinforcement learning until most are. Without the first, no answer
// would ever be right, and there would be nothing to reinforce.

#include <iostream>

#include "examples/example_run.hpp"
#include "train/recipe_runs.hpp"

using namespace tinkaf;

namespace {

constexpr auto rows_text = R"(
{"prompt": "one ", "completion": "two"}
{"prompt": "two ", "completion": "three"}
{"prompt": "three ", "completion": "four"}
{"prompt": "four ", "completion": "five"}
)";

Result<void> run(const examples::ExampleService& service) {
  auto tokenizer = service.tokenizer();
  auto rows = train::parse_rows(rows_text, "rows");
  if (!tokenizer || !rows)
    return fail(tokenizer ? rows.error() : tokenizer.error());
  const train::Renderer renderer{*tokenizer};
  auto examples = train::render_all(renderer, *rows, "rows");
  auto prompts = train::render_prompts(renderer, *rows, "rows");
  if (!examples || !prompts)
    return fail(examples ? prompts.error() : examples.error());

  train::JobModelSettings model{.base_model = service.model, .lora_config = {.rank = 8, .seed = 1}};
  train::RunSettings settings{.steps = 10, .batch_size = 4};
  settings.adam.learning_rate = 0.02;
  const auto tuned = examples::run_and_tell(
      service, "sft", "loss", train::sft_run(model, settings, train::share(*examples)));
  if (!tuned)
    return fail(tuned.error());

  model.from = tuned->state_path;
  settings.steps = 40;
  settings.adam.learning_rate = 0.005;
  train::RlSettings rl{.reward = train::exact_reward};
  rl.policy.draw = {.group = 32, .max_tokens = 6, .stop = renderer.stop_tokens()};
  const auto reinforced = examples::run_and_tell(
      service, "rl", "reward",
      train::rl_run(model, settings, train::share(*prompts), *tokenizer, rl));
  if (!reinforced)
    return fail(reinforced.error());
  std::cout << "to go on: " << reinforced->state_path << '\n';
  return {};
}

} // namespace

int main() {
  return examples::run_example(run);
}
