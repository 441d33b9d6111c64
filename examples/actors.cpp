// SPDX-License-Identifier: Apache-2.0
//
// The same with actors: a trainer of our own among the client actors. Nothing here blocks, so one
// thread could run a thousand of them.

#include "actors/session.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/stateful_actor.hpp>

#include <iostream>

#include "examples/example_batch.hpp"
#include "examples/example_service.hpp"

using namespace tinkaf;

namespace {

/// Takes ten steps, prints the loss of each and stops.
struct TrainerState {
  explicit TrainerState(caf::stateful_actor<TrainerState>* ptr) : self(ptr) {}

  void step() {
    if (steps_left-- == 0)
      return self->quit();
    // Two messages in a row: the client numbers them as they arrive.
    self->request(client, caf::infinite, atom::forward_backward_v, ForwardBackwardInput{batch})
        .then(
            [](const ForwardBackwardOutput& output) {
              std::cout << "loss " << output.metrics.at("loss:sum") << '\n';
            },
            [this](const caf::error& error) { stop(error); });
    self->request(client, caf::infinite, AdamParams{.learning_rate = 1e-2})
        .then([this](const OptimStepResponse&) { step(); },
              [this](const caf::error& error) { stop(error); });
  }

  void stop(const caf::error& error) {
    self->quit(error);
  }

  caf::stateful_actor<TrainerState>* self;
  TrainingClientActor client;
  Batch batch;
  int steps_left = 10;
};

caf::behavior trainer(caf::stateful_actor<TrainerState>* self, SessionActor session,
                      std::string base_model) {
  self->state.batch = examples::example_batch();
  auto stop = [self](const caf::error& error) { self->state.stop(error); };
  self->request(session, caf::infinite, atom::open_v)
      .then(
          [=](const std::string&) {
            self->request(session, caf::infinite,
                          CreateLoraTrainingClient{base_model, LoraConfig{.rank = 8}, {}})
                .then(
                    [self](const TrainingClientActor& client) {
                      self->state.client = client;
                      self->state.step();
                    },
                    stop);
          },
          stop);
  // What is asked for above comes as answers; nothing else is understood.
  return {[](atom::poll) {}};
}

Result<void> run(const examples::ExampleService& example) {
  caf::actor_system_config config;
  caf::actor_system system{config};
  auto session = spawn_session(system, with_environment(example.options));
  if (!session)
    return fail(session.error());

  caf::scoped_actor self{system};
  auto worker = system.spawn(trainer, *session, example.model);
  self->monitor(worker);
  Result<void> result;
  self->receive([&](const caf::down_msg& down) {
    if (down.reason)
      result = fail(from_caf(down.reason));
  });
  self->send_exit(*session, caf::exit_reason::user_shutdown); // ends all client actors
  return result;
}

} // namespace

int main() {
  return examples::run_example(run);
}
