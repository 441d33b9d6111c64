// SPDX-License-Identifier: Apache-2.0
#include "engine/execution_actor.hpp"

#include "api/overloaded.hpp"

#include <utility>
#include <variant>

namespace tinkaf {

namespace {

/// Asks the training client; the answer goes to the run.
class Submitter {
public:
  Submitter(ExecutionState& state, std::uint64_t ticket) : state_(state), ticket_(ticket) {}

  void operator()(SubmitForwardBackward& request) const {
    ask<ForwardBackwardOutput>(atom::forward_backward_v,
                               ForwardBackwardInput{.data = std::move(request.datums)});
  }

  void operator()(SubmitCustom& request) const {
    ask<ForwardBackwardOutput>(atom::custom_loss_v, std::move(request.datums),
                               std::move(request.fn));
  }

  void operator()(SubmitForward& request) const {
    ask<ForwardBackwardOutput>(atom::forward_v,
                               ForwardBackwardInput{.data = std::move(request.datums)});
  }

  void operator()(const SubmitOptimStep& request) const {
    ask<OptimStepResponse>(request.params);
  }

  void operator()(SubmitSamplerSave& request) const {
    ask<SaveWeightsForSamplerResponse>(atom::save_for_sampler_v, std::move(request.name),
                                       request.options);
  }

  void operator()(SubmitStateSave& request) const {
    ask<SaveWeightsResponse>(atom::save_state_v, std::move(request.name), request.options);
  }

private:
  template <class T, class... Args>
  void ask(Args... args) const {
    auto deliver = [state = &state_, ticket = ticket_](Result<EngineAnswer> answer) {
      state->on_answer(ticket, std::move(answer));
    };
    state_.self->request(state_.client, caf::infinite, std::move(args)...)
        .then([deliver](T& value) { deliver(EngineAnswer{std::move(value)}); },
              [deliver](const caf::error& error) { deliver(fail(from_caf(error))); });
  }

  ExecutionState& state_;
  std::uint64_t ticket_;
};

} // namespace

caf::typed_response_promise<ExecutionNext> ExecutionState::next() {
  auto answer = owe<ExecutionNext>(self);
  readers.push_back(answer);
  advance();
  return answer.promise();
}

void ExecutionState::advance() {
  auto act = Overloaded{[this](Pipeline::Send& send) { submit(std::move(send)); },
                        [this](const Pipeline::Wait& wait) {
                          auto answer = answers.extract(wait.ticket);
                          if (answer)
                            pipeline->answered(std::move(answer.mapped()));
                          else
                            waiting = wait.ticket;
                        },
                        [this](OpResult& done) { hand_out(Step{std::move(done)}); },
                        [this](Failure& failure) {
                          hand_out(Step{tl::unexpect, std::move(failure)});
                        },
                        [this](const Pipeline::End&) { hand_out(std::nullopt); }};
  while (!readers.empty() && !waiting) {
    auto action = pipeline->next();
    std::visit(act, action);
  }
}

void ExecutionState::submit(Pipeline::Send send) {
  std::visit(Submitter{*this, send.ticket}, send.request);
  // What the client refuses is told by its answer.
  pipeline->submitted({});
}

void ExecutionState::on_answer(std::uint64_t ticket, Result<EngineAnswer> answer) {
  if (waiting != ticket) {
    answers.emplace(ticket, std::move(answer));
    return;
  }
  waiting.reset();
  pipeline->answered(std::move(answer));
  advance();
}

void ExecutionState::hand_out(std::optional<Step> step) {
  auto reader = std::move(readers.front());
  readers.pop_front();
  reader.deliver({std::move(step)});
}

ExecutionActor::behavior_type execution(ExecutionState::SelfPointer self,
                                        TrainingClientActor client,
                                        std::shared_ptr<Pipeline> pipeline) {
  self->state.client = std::move(client);
  self->state.pipeline.emplace(std::move(*pipeline));
  return {[self](atom::next) { return self->state.next(); }};
}

ExecutionActor spawn_execution(caf::actor_system& system, TrainingClientActor client,
                               Schedule schedule, std::shared_ptr<SpendCap> cap) {
  return system.spawn(execution, std::move(client),
                      std::make_shared<Pipeline>(std::move(schedule), std::move(cap)));
}

ExecutionActor spawn_execution(caf::actor_system& system, TrainingClientActor client,
                               OpSource source, std::shared_ptr<SpendCap> cap) {
  return system.spawn(execution, std::move(client),
                      std::make_shared<Pipeline>(std::move(source), std::move(cap)));
}

} // namespace tinkaf
