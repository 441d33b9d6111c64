// SPDX-License-Identifier: Apache-2.0
//
// Reinforcement learning: a model that babbles learns to answer in small letters, because answers
// with more of them are worth more.

#include <algorithm>
#include <iostream>

#include "examples/example_run.hpp"
#include "train/recipe_runs.hpp"

using namespace tinkaf;

namespace {

/// The share of small letters in an answer: anything that a function can check will do.
double small_letters(const train::PromptCompletion& /*row*/, std::string_view answer) {
  const auto is_small = [](char x) { return x >= 'a' && x <= 'z'; };
  const auto count = std::count_if(answer.begin(), answer.end(), is_small);
  return answer.empty() ? 0.0 : static_cast<double>(count) / static_cast<double>(answer.size());
}

Result<std::vector<train::Prompt>> prompts_for(const train::Renderer& renderer) {
  std::vector<train::DataRow> rows; // or train::read_rows("rows.jsonl")
  for (const auto* prompt : {"Who?", "What?", "When?", "Where?"})
    rows.push_back({rows.size() + 1, train::PromptCompletion{prompt, ""}});
  return train::render_prompts(renderer, rows, "rows");
}

Result<void> run(const examples::ExampleService& service) {
  auto tokenizer = service.tokenizer();
  if (!tokenizer)
    return fail(tokenizer.error());
  const train::Renderer renderer{*tokenizer};
  auto prompts = prompts_for(renderer);
  if (!prompts)
    return fail(prompts.error());

  train::RunSettings settings{.steps = 25, .batch_size = 4, .save_every = 10};
  settings.adam.learning_rate = 0.02;
  train::RlSettings rl{.reward = small_letters};
  rl.policy.draw = {.group = 8, .max_tokens = 6, .stop = renderer.stop_tokens()};
  const auto done = examples::run_and_tell(
      service, "rl", "reward",
      train::rl_run({.base_model = service.model, .lora_config = {.rank = 8, .seed = 1}}, settings,
                    train::share(*prompts), *tokenizer, rl));
  if (!done)
    return fail(done.error());
  return {};
}

} // namespace

int main() {
  return examples::run_example(run);
}
