// SPDX-License-Identifier: Apache-2.0
#include "actors/sampling_client.hpp"

#include "actors/ask_again.hpp"
#include "actors/exceptions.hpp"
#include "api/chunking.hpp"
#include "api/endpoint.hpp"
#include "api/headers.hpp"
#include "api/random.hpp"
#include "api/rest_calls.hpp"
#include "api/wire/json.hpp"
#include "api/wire/json_rest.hpp"

#include <utility>
#include <variant>
#include <vector>

namespace tinkaf {

namespace {

using Millis = std::chrono::milliseconds;

Result<void> validate(const CreateSamplingClient& spec) {
  if (!spec.model_path && !spec.base_model)
    return fail(Errc::invalid_argument, "neither `model_path` nor `base_model` is given");
  if (spec.model_path && !spec.model_path->starts_with("tinker://"))
    return fail(Errc::invalid_argument,
                "model_path is `" + *spec.model_path + "`, but must begin with `tinker://`");
  return {};
}

template <class T>
caf::response_promise untyped(const Owed<T>& answer) {
  auto promise = answer.promise();
  return static_cast<caf::response_promise&>(promise);
}

} // namespace

// --- the sampling session ------------------------------------------------------------------------

caf::typed_response_promise<std::string> SamplingClientState::open() {
  auto answer = owe<std::string>(self);
  if (!sampling_session_id.empty()) {
    tell_id();
    answer.deliver(sampling_session_id);
    return answer.promise();
  }
  if (auto checked = validate(spec); !checked) {
    answer.fail(std::move(checked.error()));
    return answer.promise();
  }
  auto body = wire::to_json(
      CreateSamplingSessionRequest{context.session_id, number, spec.base_model, spec.model_path});
  auto call = HttpCall{"create_sampling_session",
                       make_request(Endpoint::create_sampling_session, std::move(body),
                                    make_idempotency_key(), context.request_timeout),
                       context.retry};
  ask_supervised(
      self, context.http,
      [this, answer](const HttpResponse& response) {
        auto session = wire::from_json<CreateSamplingSessionResponse>(response.body);
        if (!session)
          return answer.fail(std::move(session.error()));
        sampling_session_id = std::move(session->sampling_session_id);
        tell_id();
        answer.deliver(sampling_session_id);
      },
      [answer](const caf::error& error) { answer.fail(from_caf(error)); }, std::move(call));
  return answer.promise();
}

void SamplingClientState::tell_id() const {
  if (notes)
    self->send(notes, atom::opened_v, sampling_session_id);
}

caf::typed_response_promise<std::string> SamplingClientState::get_base_model() {
  auto answer = owe<std::string>(self);
  auto made = rest_call(GetSampler{sampling_session_id});
  if (!made) {
    answer.fail(std::move(made.error()));
    return answer.promise();
  }
  made->request.timeout = context.request_timeout;
  auto call = HttpCall{made->what, std::move(made->request), context.retry};
  ask_supervised(
      self, context.http,
      [answer](const HttpResponse& response) {
        answer.settle(
            wire::from_json<GetSamplerResponse>(response.body).map([](GetSamplerResponse&& x) {
              return std::move(x.base_model);
            }));
      },
      [answer](const caf::error& error) { answer.fail(from_caf(error)); }, std::move(call));
  return answer.promise();
}

// --- waiting for room ----------------------------------------------------------------------------

SamplingClientState::Sample* SamplingClientState::find(std::uint64_t id) {
  auto found = samples.find(id);
  return found != samples.end() ? &found->second : nullptr;
}

void SamplingClientState::sample(SampleRequest request, bool guarded,
                                 const caf::response_promise& call, Done done) {
  std::optional<FutureRef> future;
  if (!known.empty()) {
    future = std::move(known.front());
    known.pop_front();
  }
  if (auto checked = validate(request); !checked)
    return done(fail(std::move(checked.error())));
  if (sampling_session_id.empty())
    return done(
        fail(Errc::invalid_argument, "there is no sampling session yet: open the client first"));
  auto id = calls.add(call, [this](std::uint64_t given_up) { give_up(given_up); });
  auto bytes = estimate_sampling_bytes(request.prompt);
  samples.emplace(id, Sample{.request = std::move(request),
                             .done = std::move(done),
                             .bytes = bytes,
                             .asked = call.id().request_id().integer_value(),
                             .guarded = guarded,
                             .grant = {},
                             .call = {}});
  if (future) {
    begin_run(samples.at(id));
    return await_future(id, std::move(*future), std::nullopt);
  }
  admit(id);
}

void SamplingClientState::admit(std::uint64_t id) {
  auto* sample = find(id);
  if (sample == nullptr) // given up meanwhile
    return;
  auto least = context.context_limits.least();
  if (least && known_length(sample->request) > *least) {
    if (!limit) {
      unsure.push_back(id);
      return ask_limit();
    }
    auto checked = *limit ? check_length(sample->request, **limit) : Result<void>{};
    if (!checked)
      return finish(id, fail(std::move(checked.error())));
  }
  if (!sample->guarded)
    return run(id);
  waiting.push_back(id);
  run_waiting();
}

void SamplingClientState::ask_limit() {
  if (spec.base_model && !spec.model_path)
    return on_base_model(spec.base_model);
  if (unsure.size() > 1)
    return;
  auto made = rest_call(GetSampler{sampling_session_id});
  if (!made)
    return on_base_model({});
  made->request.timeout = context.request_timeout;
  self->request(context.http, caf::infinite, std::move(made->request))
      .then(
          [this](const HttpResponse& response) {
            auto sampler = wire::from_json<GetSamplerResponse>(response.body);
            auto told = response.status >= 200 && response.status < 300 && sampler;
            on_base_model(told ? std::optional{sampler->base_model} : std::nullopt);
          },
          [this](const caf::error&) { on_base_model({}); });
}

void SamplingClientState::on_base_model(const std::optional<std::string>& base_model) {
  limit = base_model ? context.context_limits.of(*base_model) : std::nullopt;
  for (auto id : std::exchange(unsure, {}))
    admit(id);
}

void SamplingClientState::run_waiting() {
  while (!waiting.empty() && running < context.config.sample_max_concurrent_requests) {
    auto id = waiting.front();
    waiting.pop_front();
    if (find(id) != nullptr) // not given up meanwhile
      run(id);
  }
}

void SamplingClientState::run(std::uint64_t id) {
  begin_run(samples.at(id));
  ask_gate(id);
}

void SamplingClientState::begin_run(Sample& sample) {
  sample.running = true;
  if (sample.guarded && running++ == 0)
    last_progress = self->clock().now();
  if (!looking && context.config.sample_enable_stuck_detection) {
    looking = true;
    self->delayed_send(self, context.sampling.progress_timeout, atom::look_v);
  }
}

void SamplingClientState::look_for_progress() {
  looking = false;
  if (running == 0)
    return;
  auto quiet = self->clock().now() - last_progress;
  if (quiet < context.sampling.progress_timeout) {
    looking = true;
    self->delayed_send(self, std::chrono::ceil<Millis>(context.sampling.progress_timeout - quiet),
                       atom::look_v);
    return;
  }
  std::vector<std::uint64_t> stuck;
  for (const auto& [id, sample] : samples)
    if (sample.running && sample.guarded)
      stuck.push_back(id);
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(quiet).count();
  for (auto id : stuck) {
    self->send(context.pollers, atom::cancel_v, id);
    finish(id, fail(Errc::connection, "no sample of this client has ended for "
                                          + std::to_string(seconds) + " s: the service is stuck"));
  }
}

// --- submitting ----------------------------------------------------------------------------------

void SamplingClientState::ask_gate(std::uint64_t id) {
  ask_supervised(
      self, context.gate, [this, id](std::uint64_t grant) { submit(id, grant); },
      [this, id](const caf::error& error) { finish(id, fail(from_caf(error))); }, atom::acquire_v,
      find(id)->bytes);
}

void SamplingClientState::submit(std::uint64_t id, std::uint64_t grant) {
  auto* sample = find(id);
  if (sample == nullptr) {
    self->send(context.gate, atom::release_v, grant);
    return;
  }
  sample->grant = grant;
  if (sample->call) // refused before, by a gate that is no more
    return post(id);
  auto body = wire::to_json(AsampleRequest{.sample = sample->request,
                                           .sampling_session_id = sampling_session_id,
                                           .seq_id = next_seq_id});
  if (!body)
    return finish(id, fail(std::move(body.error())));
  ++next_seq_id;
  if (notes)
    self->send(notes, atom::next_v, next_seq_id);
  sample->call = HttpCall{.what = "asample",
                          .request = make_request(Endpoint::asample, std::move(*body),
                                                  make_idempotency_key(), context.request_timeout),
                          .retry = context.retry,
                          .asker_waits = true};
  post(id);
}

void SamplingClientState::post(std::uint64_t id) {
  auto* sample = find(id);
  if (sample == nullptr)
    return;
  ask_supervised(
      self, context.http, [this, id](const HttpResponse& response) { await_result(id, response); },
      [this, id](const caf::error& error) { on_refusal(id, from_caf(error)); }, *sample->call);
}

void SamplingClientState::on_refusal(std::uint64_t id, Error error) {
  auto* sample = find(id);
  if (sample == nullptr)
    return;
  auto wait_and_repeat
      = error.code == Errc::rate_limited
        || (error.code == Errc::payment_required && error.should_retry.value_or(false));
  if (!wait_and_repeat) {
    leave_gate(*sample);
    return on_loss(id, std::move(error));
  }
  self->request(context.gate, caf::infinite, atom::back_off_v, *sample->grant,
                caf::timespan{error.retry_after.value_or(Millis{0})})
      .then([this, id](bool) { post(id); },
            [this, id](const caf::error& broken) { on_lost_grant(id, broken); });
}

void SamplingClientState::on_lost_grant(std::uint64_t id, const caf::error& error) {
  auto* sample = find(id);
  if (sample == nullptr)
    return;
  if (!has_broken(error))
    return finish(id, fail(from_caf(error)));
  sample->grant.reset();
  ask_gate(id);
}

void SamplingClientState::leave_gate(Sample& sample) {
  sample.call.reset();
  if (auto grant = std::exchange(sample.grant, std::nullopt))
    self->send(context.gate, atom::release_v, *grant);
}

// --- results -------------------------------------------------------------------------------------

void SamplingClientState::await_result(std::uint64_t id, const HttpResponse& response) {
  auto* sample = find(id);
  if (sample == nullptr)
    return;
  leave_gate(*sample);
  auto future = wire::from_json<FutureRef>(response.body);
  if (!future)
    return finish(id, fail(std::move(future.error())));
  if (notes)
    self->send(notes, atom::accepted_v, sample->asked, *future);
  await_future(id, std::move(*future), response.elapsed);
}

void SamplingClientState::await_future(std::uint64_t id, FutureRef future,
                                       std::optional<std::chrono::microseconds> roundtrip) {
  ask_supervised(
      self, context.pollers,
      [this, id](FutureValue& value) {
        if (auto* result = std::get_if<SampleResponse>(&value))
          finish(id, std::move(*result));
        else
          finish(id, fail(Errc::protocol_error, "the result is not that of a sample"));
      },
      [this, id](const caf::error& error) { on_loss(id, from_caf(error)); },
      PollJob{std::move(future), RequestType::sample, self->clock().now(), roundtrip, id});
}

void SamplingClientState::on_loss(std::uint64_t id, Error error) {
  auto* sample = find(id);
  if (sample == nullptr)
    return;
  if (!sample->guarded || !SamplingPolicy::covers(error))
    return finish(id, fail(std::move(error)));
  if (notes)
    self->send(notes, atom::accepted_v, sample->asked, FutureRef{});
  auto delay = context.sampling.next_delay(error, ++sample->losses, random_draw());
  if (context.notices)
    context.notices({Severity::warning, "a sample was lost and is drawn again: " + error.message});
  self->delayed_send(self, delay, atom::restart_v, id);
}

void SamplingClientState::finish(std::uint64_t id, Result<SampleResponse> result) {
  auto node = samples.extract(id);
  if (node.empty())
    return;
  auto& sample = node.mapped();
  calls.remove(id);
  leave_gate(sample);
  if (sample.running && sample.guarded)
    --running;
  if (result)
    last_progress = self->clock().now();
  sample.done(std::move(result));
  run_waiting();
}

void SamplingClientState::give_up(std::uint64_t id) {
  self->send(context.pollers, atom::cancel_v, id);
  finish(id, fail(Errc::cancelled, "the sample was given up by its caller"));
}

// --- behaviour -----------------------------------------------------------------------------------

SamplingClientActor::behavior_type sampling_worker(SamplingClientState::SelfPointer self,
                                                   ClientContext context, CreateSamplingClient spec,
                                                   std::int64_t number, SamplingStart start,
                                                   SamplingNotesActor notes) {
  end_on_exception(self);
  self->state.next_seq_id = start.next_seq_id;
  self->state.known = std::move(start.known);
  self->state.notes = std::move(notes);
  if (spec.sampling_session_id)
    self->state.sampling_session_id = *spec.sampling_session_id;
  self->state.context = std::move(context);
  self->state.spec = std::move(spec);
  self->state.number = number;
  self->set_down_handler([self](const caf::down_msg& x) { self->state.calls.on_down(x.source); });
  return {
      [self](atom::open) { return self->state.open(); },
      [self](SampleRequest& request) {
        auto answer = owe<SampleResponse>(self);
        auto& state = self->state;
        state.sample(std::move(request), !state.context.config.sample_no_retries, untyped(answer),
                     [answer](Result<SampleResponse> result) { answer.settle(std::move(result)); });
        return answer.promise();
      },
      [self](atom::compute_logprobs, ModelInput& prompt) {
        auto answer = owe<PromptLogprobs>(self);
        auto request = SampleRequest{.prompt = std::move(prompt),
                                     .sampling_params = {.max_tokens = 1},
                                     .include_prompt_logprobs = true};
        self->state.sample(
            std::move(request), true, untyped(answer), [answer](Result<SampleResponse> result) {
              if (!result)
                answer.fail(std::move(result.error()));
              else if (!result->prompt_logprobs)
                answer.fail({Errc::protocol_error, "the sample came without `prompt_logprobs`"});
              else
                answer.deliver(std::move(*result->prompt_logprobs));
            });
        return answer.promise();
      },
      [self](atom::get_base_model) { return self->state.get_base_model(); },
      [self](atom::cancel, std::uint64_t call) {
        self->state.calls.cancel(self->current_sender(), call);
      },
      [self](atom::status, std::uint64_t call) {
        auto& client = self->state;
        auto asker = self->current_sender(); // the promise takes it away
        return client.calls.status(client.context.pollers, asker, call);
      },
      [self](atom::restart, std::uint64_t id) {
        if (self->state.find(id) != nullptr)
          self->state.ask_gate(id);
      },
      [self](atom::look) { self->state.look_for_progress(); },
  };
}

} // namespace tinkaf
