// SPDX-License-Identifier: Apache-2.0
//
// Direct preference optimization: of two answers to each prompt, the better one becomes likelier
// than the other, as seen from the model that it begins with.

#include <iostream>

#include "examples/example_run.hpp"
#include "train/recipe_runs.hpp"

using namespace tinkaf;

namespace {

/// Pairs as they stand in a file; `train::read_preferences` reads one.
constexpr auto pairs = R"(
{"prompt": "Is water wet?", "chosen": "yes", "rejected": "no"}
{"prompt": "Is ice warm?", "chosen": "no", "rejected": "yes"}
{"prompt": "Is coal black?", "chosen": "yes", "rejected": "no"}
{"prompt": "Do stones swim?", "chosen": "no", "rejected": "yes"}
)";

Result<void> run(const examples::ExampleService& service) {
  auto tokenizer = service.tokenizer();
  auto rows = train::parse_preferences(pairs, "pairs");
  if (!tokenizer || !rows)
    return fail(tokenizer ? rows.error() : tokenizer.error());
  auto preferences = train::render_preferences(train::Renderer{*tokenizer}, *rows, "pairs");
  if (!preferences)
    return fail(preferences.error());

  train::RunSettings settings{.steps = 20, .batch_size = 4, .save_every = 10};
  settings.adam.learning_rate = 0.01;
  const auto done = examples::run_and_tell(
      service, "dpo", "loss",
      train::dpo_run({.base_model = service.model, .lora_config = {.rank = 8, .seed = 1}}, settings,
                     train::share(*preferences), {.reference = service.model, .beta = 0.1}));
  if (!done)
    return fail(done.error());
  return {};
}

} // namespace

int main() {
  return examples::run_example(run);
}
