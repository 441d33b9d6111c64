// SPDX-License-Identifier: Apache-2.0
//
// On-policy distillation in two stages: a teacher is fine-tuned, then a fresh model answers and
// becomes like the teacher, token by token.

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

  const train::JobModelSettings model{.base_model = service.model,
                                      .lora_config = {.rank = 8, .seed = 1}};
  train::RunSettings settings{.steps = 10, .batch_size = 4};
  settings.adam.learning_rate = 0.01;
  const auto teacher = examples::run_and_tell(
      service, "teacher", "loss", train::sft_run(model, settings, train::share(*examples)));
  if (!teacher)
    return fail(teacher.error());

  settings.steps = 60;
  settings.adam.learning_rate = 0.005;
  train::DistillSettings distill{.teacher = teacher->sampler_path};
  distill.policy.draw = {.group = 16, .max_tokens = 6, .stop = renderer.stop_tokens()};
  const auto student = examples::run_and_tell(
      service, "student", "reverse KL",
      train::distill_run(model, settings, train::share(*prompts), distill));
  if (!student)
    return fail(student.error());
  return {};
}

} // namespace

int main() {
  return examples::run_example(run);
}
