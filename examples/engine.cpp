// SPDX-License-Identifier: Apache-2.0
//
// A schedule of steps and snapshots: checked, priced, held below a cap, and run one step ahead.

#include "client/service.hpp"

#include <iostream>

#include "engine/client_execute.hpp"
#include "examples/example_batch.hpp"
#include "examples/example_service.hpp"

using namespace tinkaf;

namespace {

/// Six steps with a snapshot behind every third, which is scored.
Schedule schedule() {
  const auto data = examples::example_batch();
  Schedule result;
  for (int step = 1; step <= 6; ++step) {
    result.emplace_back(TrainOp{.datums = data, .loss = CrossEntropy{}, .lr = 1e-2});
    if (step % 3 == 0)
      result.emplace_back(SnapshotOp{
          .name = "step" + std::to_string(step), .ttl = std::chrono::hours{24}, .eval = data});
  }
  return result;
}

void print(const TrainDone& done) {
  std::cout << "loss " << done.output.metrics.at("loss:sum") << '\n';
}

void print(const ScoreDone&) {}

void print(const SnapshotDone& done) {
  auto sum = 0.0;
  for (auto logprob : *done.outputs->front().at("logprobs").floats())
    sum -= logprob;
  std::cout << "saved " << done.state_path << ", loss there " << sum << '\n';
}

Result<void> run(const examples::ExampleService& example) {
  auto service = Service::connect(example.options);
  if (!service)
    return fail(service.error());
  auto training = service->create_lora_training_client(example.model, {.rank = 8});
  if (!training)
    return fail(training.error());

  const Price price{.prefill = 0.195, .sample = 0.60, .train = 0.44}; // or data/prices.json
  const auto projected = projection(schedule(), price);
  auto cap = SpendCap::make(0.01, price);
  if (!projected || !cap)
    return fail(projected ? cap.error() : projected.error());
  std::cout << "will cost " << *projected << " USD\n";

  for (const auto& step : execute(*training, schedule(), *cap)) {
    if (!step)
      return fail(step.error().error);
    std::visit([](const auto& done) { print(done); }, *step);
  }
  std::cout << "has cost " << (*cap)->spent() << " USD\n";
  return {};
}

} // namespace

int main() {
  return examples::run_example(run);
}
