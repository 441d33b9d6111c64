// SPDX-License-Identifier: Apache-2.0
#include "actors/sampling_keeper.hpp"

#include "actors/ask_again.hpp"
#include "actors/exceptions.hpp"
#include "actors/exit_reasons.hpp"
#include "actors/start_sink.hpp"

#include <memory>
#include <tuple>
#include <utility>
#include <vector>

namespace tinkaf {

SamplingKeeperState::~SamplingKeeperState() {
  if (worker)
    self->send_exit(worker, caf::exit_reason::user_shutdown);
}

template <class T, class... Args>
caf::typed_response_promise<T> SamplingKeeperState::keep(bool is_sample, Args... args) {
  auto answer = owe<T>(self);
  auto promise = answer.promise();
  auto id = calls.add(static_cast<caf::response_promise&>(promise),
                      [this](std::uint64_t given_up) { give_up(given_up); });
  auto message = std::make_shared<const std::tuple<Args...>>(std::move(args)...);
  auto ask_worker = [this, answer, message](std::uint64_t question) {
    return std::apply(
        [&](const auto&... xs) {
          auto request = self->request(worker, caf::infinite, xs...);
          auto asked = call_id(request);
          request.then(
              [this, question, answer](T& value) {
                answer.deliver(std::move(value));
                forget(question);
              },
              [this, question, answer](const caf::error& error) {
                if (has_broken(error))
                  return; // the next worker is asked again
                answer.fail(from_caf(error));
                forget(question);
              });
          return asked;
        },
        *message);
  };
  questions.emplace(id, Question{.is_sample = is_sample,
                                 .ask = std::move(ask_worker),
                                 .fail = answer.failer(),
                                 .future = {}});
  ask(id);
  return answer.promise();
}

void SamplingKeeperState::ask(std::uint64_t id) {
  if (!worker)
    return; // the next one is asked for all
  auto& question = questions.at(id);
  by_request.erase(question.request);
  question.request = question.ask(id);
  by_request[question.request] = id;
}

void SamplingKeeperState::give_up(std::uint64_t id) {
  auto& question = questions.at(id);
  question.fail({Errc::cancelled, "the sample was given up by its caller"});
  if (worker)
    self->send(worker, atom::cancel_v, question.request);
  forget(id);
}

void SamplingKeeperState::forget(std::uint64_t id) {
  calls.remove(id);
  if (auto node = questions.extract(id); !node.empty())
    by_request.erase(node.mapped().request);
}

caf::typed_response_promise<CallStatus> SamplingKeeperState::status(std::uint64_t call) {
  auto asker = self->current_sender(); // the promise takes it away
  auto answer = owe<CallStatus>(self);
  auto id = calls.find(asker, call);
  if (id == 0 || !worker)
    answer.deliver({});
  else
    self->request(worker, caf::infinite, atom::status_v, questions.at(id).request)
        .then([answer](CallStatus& status) { answer.deliver(std::move(status)); },
              [answer](const caf::error&) { answer.deliver({}); });
  return answer.promise();
}

void SamplingKeeperState::start() {
  SamplingStart from{.next_seq_id = next_seq_id, .known = {}};
  std::vector<std::uint64_t> ids;
  for (const auto& [id, question] : questions) {
    ids.push_back(id);
    if (question.is_sample)
      from.known.push_back(question.future);
  }
  worker = self->spawn(sampling_worker, context, spec, number, std::move(from),
                       SamplingNotesActor{self});
  self->monitor(worker);
  tell_start(policy, worker);
  for (auto id : ids)
    ask(id);
}

void SamplingKeeperState::on_down(const caf::down_msg& down) {
  if (!worker || down.source != worker.address())
    return calls.on_down(down.source);
  worker = nullptr;
  if (!is_breakage(down.reason))
    return self->quit(down.reason);
  auto reason = describe_exit(down.reason);
  auto delay = counter.next_delay(policy, self->clock().now());
  tell(false, reason);
  if (delay)
    self->delayed_send(self, *delay, atom::restart_v, std::uint64_t{0});
  else
    end({.code = Errc::gave_up,
         .message = "the sampling client broke " + std::to_string(counter.total())
                    + " times and is given up: " + reason,
         .category = ErrorCategory::server});
}

void SamplingKeeperState::end(const Error& reason) {
  for (auto& [id, question] : questions)
    question.fail(reason);
  questions.clear();
  self->quit(to_caf(reason));
}

void SamplingKeeperState::tell(bool running, std::string reason, std::string new_name) const {
  self->send(context.session, SupervisionEvent{.who = self->address(),
                                               .running = running,
                                               .breakages = counter.total(),
                                               .reason = std::move(reason),
                                               .name = std::move(new_name)});
}

void SamplingKeeperState::on_accepted(std::uint64_t request, FutureRef future) {
  auto found = by_request.find(request);
  if (found == by_request.end())
    return;
  auto& known = questions.at(found->second).future;
  if (future.request_id.empty())
    known.reset();
  else
    known = std::move(future);
}

SamplingKeeperActor::behavior_type sampling_client(SamplingKeeperState::SelfPointer self,
                                                   ClientContext context, CreateSamplingClient spec,
                                                   std::int64_t number, RestartPolicy policy) {
  end_on_exception(self);
  auto& state = self->state;
  state.context = std::move(context);
  state.spec = std::move(spec);
  state.number = number;
  state.policy = policy;
  self->set_down_handler([self](const caf::down_msg& x) { self->state.on_down(x); });
  state.start();
  return {
      [self](atom::open) { return self->state.keep<std::string>(false, atom::open_v); },
      [self](SampleRequest& request) {
        return self->state.keep<SampleResponse>(true, std::move(request));
      },
      [self](atom::compute_logprobs, ModelInput& prompt) {
        return self->state.keep<PromptLogprobs>(true, atom::compute_logprobs_v, std::move(prompt));
      },
      [self](atom::get_base_model) {
        return self->state.keep<std::string>(false, atom::get_base_model_v);
      },
      [self](atom::cancel, std::uint64_t call) {
        self->state.calls.cancel(self->current_sender(), call);
      },
      [self](atom::status, std::uint64_t call) { return self->state.status(call); },
      [self](atom::restart, std::uint64_t) {
        self->state.start();
        self->state.tell(true, {});
      },
      [](atom::look) {},
      [self](atom::next, std::int64_t next_seq_id) { self->state.next_seq_id = next_seq_id; },
      [self](atom::accepted, std::uint64_t request, FutureRef& future) {
        self->state.on_accepted(request, std::move(future));
      },
      [self](atom::opened, const std::string& id) {
        self->state.spec.sampling_session_id = id;
        self->state.tell(true, {}, "sampling client " + id);
      },
  };
}

} // namespace tinkaf
