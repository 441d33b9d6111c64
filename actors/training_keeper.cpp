// SPDX-License-Identifier: Apache-2.0
#include "actors/training_keeper.hpp"

#include "actors/ask_again.hpp"
#include "actors/exceptions.hpp"
#include "actors/exit_reasons.hpp"
#include "actors/start_sink.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tinkaf {

namespace {

bool all_accepted(const TrainingKeeperState::Operation& operation) {
  return std::all_of(operation.turns.begin(), operation.turns.end(), [](const auto& turn) {
    return std::all_of(turn.begin(), turn.end(),
                       [](const auto& x) { return x.accepted.has_value(); });
  });
}

/// True if nothing that the service waits for depends on an operation that nobody waits for.
bool is_over(const TrainingKeeperState::Operation& operation) {
  auto numbered = operation.kind == TrainingKeeperState::Kind::numbered;
  return all_accepted(operation) && !(numbered && operation.turns.empty());
}

} // namespace

TrainingKeeperState::~TrainingKeeperState() {
  if (worker)
    self->send_exit(worker, caf::exit_reason::user_shutdown);
}

// --- what is asked for ---------------------------------------------------------------------------

template <class T>
std::uint64_t TrainingKeeperState::add(Kind kind, const Owed<T>& answer) {
  auto promise = answer.promise();
  auto id = calls.add(static_cast<caf::response_promise&>(promise),
                      [this](std::uint64_t given_up) { give_up(given_up); });
  operations.emplace(
      id, Operation{.kind = kind, .ask = {}, .fail = answer.failer(), .turns = {}, .computed = {}});
  return id;
}

template <class T, class Request>
std::uint64_t TrainingKeeperState::follow(Request request, std::uint64_t id,
                                          const Owed<T>& answer) {
  auto number = call_id(request);
  std::move(request).then(
      [this, id, answer](T& value) {
        if constexpr (std::is_same_v<T, std::string>) {
          model_id = value;
          tell(true, {}, "training client " + value);
        }
        answer.deliver(std::move(value));
        settle(id);
      },
      [this, id, answer](const caf::error& error) {
        if (has_broken(error))
          return; // the next worker is asked again
        answer.fail(from_caf(error));
        settle(id);
      });
  return number;
}

template <class T, class... Args>
caf::typed_response_promise<T> TrainingKeeperState::keep(Kind kind, Args... args) {
  auto answer = owe<T>(self);
  auto id = add(kind, answer);
  auto message = std::make_shared<const std::tuple<Args...>>(std::move(args)...);
  operations.at(id).ask = [this, answer, message](std::uint64_t number) {
    return std::apply(
        [&](const auto&... xs) {
          return follow(self->request(worker, caf::infinite, xs...), number, answer);
        },
        *message);
  };
  ask(id);
  return answer.promise();
}

caf::typed_response_promise<ForwardBackwardOutput>
TrainingKeeperState::custom_loss(Batch data, CustomLossFn loss) {
  auto answer = owe<ForwardBackwardOutput>(self);
  auto id = add(Kind::custom_loss, answer);
  operations.at(id).ask
      = [this, answer, data = std::move(data), loss = std::move(loss)](std::uint64_t number) {
          if (const auto& computed = operations.at(number).computed)
            return follow(self->request(worker, caf::infinite, atom::custom_loss_v, computed),
                          number, answer);
          return follow(self->request(worker, caf::infinite, atom::custom_loss_v, data, loss),
                        number, answer);
        };
  ask(id);
  return answer.promise();
}

void TrainingKeeperState::ask(std::uint64_t id) {
  if (!worker)
    return; // the next one is asked for all
  auto& operation = operations.at(id);
  by_request.erase(operation.request);
  operation.request = operation.ask(id);
  by_request[operation.request] = id;
}

void TrainingKeeperState::settle(std::uint64_t id) {
  calls.remove(id);
  auto found = operations.find(id);
  if (found != operations.end() && (!found->second.given_up || is_over(found->second)))
    forget(id);
}

void TrainingKeeperState::give_up(std::uint64_t id) {
  auto& operation = operations.at(id);
  operation.fail({Errc::cancelled, "the call was given up by its caller"});
  operation.given_up = true;
  if (worker)
    self->send(worker, atom::cancel_v, operation.request);
  if (is_over(operation))
    forget(id);
}

void TrainingKeeperState::forget(std::uint64_t id) {
  auto node = operations.extract(id);
  if (node.empty())
    return;
  by_request.erase(node.mapped().request);
  for (const auto& turn : node.mapped().turns)
    for (const auto& request : turn)
      by_number.erase(request.seq_id);
}

caf::typed_response_promise<CallStatus> TrainingKeeperState::status(std::uint64_t call) {
  auto asker = self->current_sender(); // the promise takes it away
  auto answer = owe<CallStatus>(self);
  auto id = calls.find(asker, call);
  if (id == 0 || !worker)
    answer.deliver({});
  else
    self->request(worker, caf::infinite, atom::status_v, operations.at(id).request)
        .then([answer](CallStatus& status) { answer.deliver(std::move(status)); },
              [answer](const caf::error&) { answer.deliver({}); });
  return answer.promise();
}

// --- the worker ----------------------------------------------------------------------------------

void TrainingKeeperState::start() {
  auto from = model_id.empty() ? origin : ModelOrigin{attachment()};
  worker = TrainingWorkerActor{
      self->spawn(training_worker, context, std::move(from), TrainingNotesActor{self})};
  self->monitor(worker);
  tell_start(policy, worker);
  std::vector<std::uint64_t> ids;
  for (const auto& [id, operation] : operations)
    ids.push_back(id);
  for (auto id : ids)
    ask(id);
}

AttachTrainingClient TrainingKeeperState::attachment() const {
  AttachTrainingClient result{
      .model_id = model_id, .next_seq_id = next_seq_id, .open = {}, .base_model = base_model};
  for (const auto& [id, operation] : operations)
    for (const auto& turn : operation.turns) {
      auto over = operation.computed && !turn.empty() && turn.front().type == RequestType::forward;
      if (!turn.empty() && !over)
        result.open.push_back(turn);
    }
  result.open.insert(result.open.end(), left.begin(), left.end());
  return result;
}

void TrainingKeeperState::on_down(const caf::down_msg& down) {
  if (!worker || down.source != worker.address())
    return calls.on_down(down.source);
  worker = nullptr;
  if (!is_breakage(down.reason))
    return self->quit(down.reason);
  auto reason = describe_exit(down.reason);
  auto delay = counter.next_delay(policy, self->clock().now());
  tell(false, reason);
  if (lost)
    return end(*lost);
  if (!delay)
    return end({.code = Errc::gave_up,
                .message = "the training client broke " + std::to_string(counter.total())
                           + " times and is given up: " + reason,
                .category = ErrorCategory::server});
  if (model_id.empty()) { // it is created anew, under the same number
    next_seq_id = 1;
    by_number.clear();
    for (auto& [id, operation] : operations)
      operation.turns.clear();
  }
  std::vector<std::uint64_t> unrepeatable;
  for (auto& [id, operation] : operations)
    if (operation.kind == Kind::once)
      unrepeatable.push_back(id);
  for (auto id : unrepeatable) {
    operations.at(id).fail({.code = Errc::connection,
                            .message = "the training client broke before an answer came",
                            .ambiguous = true});
    calls.remove(id);
    forget(id);
  }
  self->delayed_send(self, *delay, atom::restart_v);
}

void TrainingKeeperState::end(Error reason) {
  for (auto& [id, operation] : operations)
    operation.fail(reason);
  operations.clear();
  self->quit(to_caf(std::move(reason)));
}

void TrainingKeeperState::tell(bool running, std::string reason, std::string new_name) const {
  self->send(context.session, SupervisionEvent{.who = self->address(),
                                               .running = running,
                                               .breakages = counter.total(),
                                               .reason = std::move(reason),
                                               .name = std::move(new_name)});
}

// --- what it tells -------------------------------------------------------------------------------

TrainingKeeperState::Operation* TrainingKeeperState::find(std::uint64_t request) {
  auto found = by_request.find(request);
  return found != by_request.end() ? &operations.at(found->second) : nullptr;
}

caf::result<Done> TrainingKeeperState::note(std::uint64_t request, const NumberedTurn& turn) {
  auto* operation = find(request);
  if (operation == nullptr)
    return to_caf({Errc::cancelled, "the call was given up by its caller"});
  auto first = turn.front().seq_id;
  auto begins_here
      = [first](const NumberedTurn& x) { return !x.empty() && x.front().seq_id == first; };
  if (std::any_of(operation->turns.begin(), operation->turns.end(), begins_here))
    return Done{}; // of an earlier worker
  auto id = by_request.at(request);
  auto was_left = !left.empty() && begins_here(left.front());
  if (!was_left)
    free_numbers(first);
  for (const auto& numbered : turn)
    by_number[numbered.seq_id] = id;
  if (was_left) {
    operation->turns.push_back(std::move(left.front()));
    left.pop_front();
    return Done{};
  }
  operation->turns.push_back(turn);
  next_seq_id = turn.back().seq_id + 1;
  if (!ledger)
    return Done{};
  auto answer = owe<Done>(self);
  write_through(answer, id, turn);
  return answer.promise();
}

void TrainingKeeperState::write_through(const Owed<Done>& answer, std::uint64_t id,
                                        const NumberedTurn& turn) {
  self->request(ledger, caf::infinite, turn)
      .then([answer](Done done) { answer.deliver(done); },
            [this, answer, id, first = turn.front().seq_id](const caf::error& error) {
              if (by_number.contains(first) && by_number.at(first) == id) {
                free_numbers(first);
                next_seq_id = first;
              }
              answer.fail(from_caf(error));
            });
}

void TrainingKeeperState::on_accepted(std::int64_t seq_id, const FutureRef& future) {
  if (ledger)
    self->send(ledger, atom::accepted_v, seq_id, future);
  auto found = by_number.find(seq_id);
  if (found == by_number.end())
    return;
  auto id = found->second;
  auto& operation = operations.at(id);
  for (auto& turn : operation.turns)
    for (auto& request : turn)
      if (request.seq_id == seq_id)
        request.accepted = future;
  if (!operation.given_up || !is_over(operation))
    return;
  if (worker)
    self->send(worker, atom::cancel_v, operation.request); // it may be asked again by a new one
  forget(id);
}

void TrainingKeeperState::on_settled(std::uint64_t request, std::int64_t next) {
  free_numbers(next);
  next_seq_id = next;
  if (auto* operation = find(request); operation != nullptr && operation->given_up)
    forget(by_request.at(request));
}

void TrainingKeeperState::on_computed(std::uint64_t request, const LinearLossOutcome& outcome) {
  if (auto* operation = find(request))
    operation->computed = outcome;
}

void TrainingKeeperState::free_numbers(std::int64_t first) {
  auto is_free = [&](const NumberedRequest& x) { return x.seq_id >= first; };
  for (auto i = by_number.lower_bound(first); i != by_number.end(); i = by_number.erase(i))
    if (auto operation = operations.find(i->second); operation != operations.end())
      for (auto& turn : operation->second.turns)
        std::erase_if(turn, is_free);
}

// --- behaviour -----------------------------------------------------------------------------------

TrainingKeeperActor::behavior_type training_client(TrainingKeeperState::SelfPointer self,
                                                   ClientContext context, ModelOrigin origin,
                                                   LedgerActor ledger, RestartPolicy policy) {
  end_on_exception(self);
  using Kind = TrainingKeeperState::Kind;
  auto& state = self->state;
  state.context = std::move(context);
  state.ledger = std::move(ledger);
  state.policy = policy;
  state.base_model = base_model_of(origin);
  if (auto* attached = std::get_if<AttachTrainingClient>(&origin)) {
    state.model_id = std::move(attached->model_id);
    state.next_seq_id = attached->next_seq_id;
    std::move(attached->open.begin(), attached->open.end(), std::back_inserter(state.left));
  } else {
    state.origin = std::move(origin);
  }
  self->set_down_handler([self](const caf::down_msg& x) { self->state.on_down(x); });
  state.start();
  return {
      [self](atom::open) { return self->state.keep<std::string>(Kind::question, atom::open_v); },
      [self](atom::forward_backward, ForwardBackwardInput& input) {
        return self->state.keep<ForwardBackwardOutput>(Kind::numbered, atom::forward_backward_v,
                                                       std::move(input));
      },
      [self](atom::forward, ForwardBackwardInput& input) {
        return self->state.keep<ForwardBackwardOutput>(Kind::numbered, atom::forward_v,
                                                       std::move(input));
      },
      [self](atom::custom_loss, Batch& data, CustomLossFn& loss) {
        return self->state.custom_loss(std::move(data), std::move(loss));
      },
      [self](const AdamParams& params) {
        return self->state.keep<OptimStepResponse>(Kind::numbered, params);
      },
      [self](atom::save_state, std::string& checkpoint, const SaveWeightsOptions& options) {
        return self->state.keep<SaveWeightsResponse>(Kind::numbered, atom::save_state_v,
                                                     std::move(checkpoint), options);
      },
      [self](atom::load_state, std::string& path, bool with_optimizer) {
        return self->state.keep<LoadWeightsResponse>(Kind::numbered, atom::load_state_v,
                                                     std::move(path), with_optimizer);
      },
      [self](atom::save_for_sampler, std::string& checkpoint, const SaveWeightsOptions& options) {
        return self->state.keep<SaveWeightsForSamplerResponse>(
            Kind::numbered, atom::save_for_sampler_v, std::move(checkpoint), options);
      },
      [self](atom::save_for_sampler) {
        return self->state.keep<SaveWeightsForSamplerResponse>(Kind::numbered,
                                                               atom::save_for_sampler_v);
      },
      [self](atom::get_sampler) {
        return self->state.keep<SamplingClientActor>(Kind::numbered, atom::get_sampler_v);
      },
      [self](atom::get_info) {
        return self->state.keep<ModelInfo>(Kind::question, atom::get_info_v);
      },
      [self](atom::unload) {
        return self->state.keep<UnloadModelResponse>(Kind::once, atom::unload_v);
      },
      [self](atom::cancel, std::uint64_t call) {
        self->state.calls.cancel(self->current_sender(), call);
      },
      [self](atom::status, std::uint64_t call) { return self->state.status(call); },
      [self](atom::computed, std::uint64_t request, const LinearLossOutcome& outcome) {
        self->state.on_computed(request, outcome);
      },
      [self](std::uint64_t request, const NumberedTurn& turn) {
        return self->state.note(request, turn);
      },
      [self](atom::accepted, std::int64_t seq_id, const FutureRef& future) {
        self->state.on_accepted(seq_id, future);
      },
      [self](atom::settled, std::uint64_t request, std::int64_t next) {
        self->state.on_settled(request, next);
      },
      [self](atom::get_base_model, std::string& told) { self->state.base_model = std::move(told); },
      [self](atom::lost, Error& reason) { self->state.lost = std::move(reason); },
      [self](atom::restart) {
        self->state.start();
        self->state.tell(true, {});
      },
  };
}

} // namespace tinkaf
