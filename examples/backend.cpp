// SPDX-License-Identifier: Apache-2.0
//
// A training loop over a backend: fine-tunes, evaluates and saves, and then goes on where it saved.

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "backend/tinker_backend.hpp"
#include "backend/training_loop.hpp"
#include "examples/example_batch.hpp"
#include "examples/example_service.hpp"

using namespace tinkaf;

namespace {

/// Always the same row; a loop of your own reads a data set here.
class OneRow : public StepBuilder {
public:
  Result<StepBatch> build(std::int64_t) override {
    return StepBatch{.datums = batch_};
  }

  Result<Metrics> step_metrics(const StepBatch&, const ForwardBackwardOutput& output) override {
    return Metrics{{"loss", output.metrics.at("loss:sum")}};
  }

private:
  Batch batch_ = examples::example_batch();
};

/// Log-probability of the row under the weights of a snapshot.
Result<Metrics> evaluate(BackendSampler& sampler, std::int64_t) {
  auto logprobs = sampler.compute_logprobs(ModelInput::from_ints({1, 40, 41, 42, 43, 44})).get();
  if (!logprobs)
    return fail(logprobs.error());
  auto sum = 0.0;
  for (const auto& logprob : *logprobs)
    sum += logprob.value_or(0);
  std::cout << sampler.name() << ": " << sum << '\n';
  return Metrics{{"logprob", sum}};
}

Result<void> run(const examples::ExampleService& example) {
  TinkerBackendSettings settings{
      .model_name = example.model, .lora_rank = 8, .options = example.options};
  LoopSettings loop{.run_dir = std::filesystem::temp_directory_path() / "tinkaf-backend-example",
                    .adam = {.learning_rate = 1e-2},
                    .save_every = 2,
                    .evaluators = {{.name = "row", .run_every = 2, .evaluate = evaluate}}};
  std::filesystem::remove_all(loop.run_dir);
  loop.callbacks.on_step_end = [](std::int64_t step, const Metrics& row) {
    std::cout << "step " << step << ", loss " << row.at("loss") << '\n';
  };
  OneRow rows;
  for (const std::int64_t steps : {4, 8}) { // the second time it goes on
    const auto checkpoints = read_checkpoints(loop.run_dir / "checkpoints.jsonl");
    if (!checkpoints)
      return fail(checkpoints.error());
    const auto origin = run_origin(*checkpoints);
    settings.resume_state_path = origin.resume_state_path;
    const auto backend = TinkerBackend::create(settings);
    if (!backend)
      return fail(backend.error());
    if (auto outcome = run_training_loop(**backend, rows, loop, steps, origin.batch); !outcome)
      return fail(outcome.error());
  }
  std::filesystem::remove_all(loop.run_dir);
  return {};
}

} // namespace

int main() {
  ::setenv("TINKER_API_KEY", "tml-example", 0); // what the server of the example takes
  return examples::run_example(run);
}
