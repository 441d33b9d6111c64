// SPDX-License-Identifier: Apache-2.0
//
// A client that breaks for good is replaced by one that goes on from the last checkpoint.

#include "client/recovery.hpp"

#include <future>
#include <iostream>

#include "examples/example_service.hpp"

using namespace tinkaf;

namespace {

/// Keeps what breaks the training client; a real one breaks by itself.
StartSink keep_breaker(std::promise<std::function<void()>>& breaker) {
  return [&breaker, first = true](std::string_view kind,
                                  const std::function<void()>& break_it) mutable {
    if (kind == "tinkaf.training-worker" && std::exchange(first, false))
      breaker.set_value(break_it);
  };
}

Result<double> step(const TrainingClient& training) {
  auto batch = make_batch(
      {Datum{.model_input = ModelInput::from_ints({1, 40, 41}),
             .loss_fn_inputs
             = {{"target_tokens", TensorData::of(std::vector<std::int64_t>{40, 41, 42})}}}});
  auto loss = training.forward_backward(batch);
  auto updated = training.optim_step({.learning_rate = 1e-2});
  if (auto result = updated.get(); !result)
    return fail(result.error());
  auto result = loss.get();
  if (!result)
    return fail(result.error());
  return result->metrics.at("loss:sum");
}

Result<void> run(const examples::ExampleService& example) {
  auto options = example.options;
  std::promise<std::function<void()>> breaker;
  options.restarts.clients = {.max_restarts = 0, .on_start = keep_breaker(breaker)};
  auto service = Service::connect(options);
  if (!service)
    return fail(service.error());
  auto training = service->create_lora_training_client(example.model, {.rank = 8, .seed = 1});
  if (!training)
    return fail(training.error());

  std::promise<Result<TrainingClient>> recovered;
  auto monitor = RecoveryMonitor::start(
      *service, {.enabled = true},
      {.on_recovery = [&](const Recovery& x) { recovered.set_value(x.client); },
       .on_failure = [&](const std::string&, const Error& why) { recovered.set_value(fail(why)); },
       .on_event =
           [](const RecoveryEvent& event) {
             std::cout << to_string(event.kind) << ": " << event.detail << '\n';
           }});
  if (!monitor)
    return fail(monitor.error());
  if (auto watched = monitor->watch(*training); !watched)
    return watched;

  if (auto loss = step(*training); !loss)
    return fail(loss.error());
  if (auto saved = training->save_state("half").get(); !saved)
    return fail(saved.error());
  breaker.get_future().get()();
  auto failed = step(*training);
  auto next = recovered.get_future().get();
  if (!failed)
    std::cout << "the old client: " << to_string(failed.error()) << '\n';
  if (!next)
    return fail(next.error());
  auto loss = step(*next); // the step behind the checkpoint's
  if (!loss)
    return fail(loss.error());
  std::cout << "goes on with loss " << *loss << '\n';
  return {};
}

} // namespace

int main() {
  return examples::run_example(run);
}
