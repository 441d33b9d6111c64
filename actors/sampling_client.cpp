// SPDX-License-Identifier: Apache-2.0
#include "actors/sampling_client.hpp"

#include "actors/http_actor.hpp"
#include "api/endpoint.hpp"
#include "api/headers.hpp"
#include "api/wire/json.hpp"

#include <variant>

namespace tinkaf {

namespace {

/// How often a sample is submitted whose result the service dropped before it was fetched.
constexpr std::uint32_t max_submissions = 3;

} // namespace

caf::typed_response_promise<std::string> SamplingClientState::open() {
  auto answer = owe<std::string>(self);
  if (spec.sampling_session_id) {
    sampling_session_id = *spec.sampling_session_id;
    answer.deliver(sampling_session_id);
    return answer.promise();
  }
  auto body = wire::to_json(
      CreateSamplingSessionRequest{context.session_id, number, spec.base_model, spec.model_path});
  auto call = HttpCall{"create_sampling_session",
                       make_request(Endpoint::create_sampling_session, std::move(body),
                                    make_idempotency_key(), context.request_timeout),
                       context.retry};
  self->request(context.http, caf::infinite, std::move(call))
      .then(
          [this, answer](const HttpResponse& response) {
            auto session = wire::from_json<CreateSamplingSessionResponse>(response.body);
            if (!session)
              return answer.fail(std::move(session.error()));
            sampling_session_id = std::move(session->sampling_session_id);
            answer.deliver(sampling_session_id);
          },
          [answer](const caf::error& error) { answer.fail(from_caf(error)); });
  return answer.promise();
}

void SamplingClientState::sample(SampleRequest request,
                                 std::function<void(Result<SampleResponse>)> done) {
  if (auto checked = validate(request); !checked)
    return done(fail(std::move(checked.error())));
  if (sampling_session_id.empty())
    return done(
        fail(Errc::invalid_argument, "there is no sampling session yet: open the client first"));
  waiting.push_back(std::make_shared<Sample>(Sample{std::move(request), std::move(done), 0}));
  submit_waiting();
}

void SamplingClientState::submit_waiting() {
  while (!waiting.empty() && under_way < context.config.sample_max_concurrent_requests) {
    auto next = std::move(waiting.front());
    waiting.pop_front();
    ++under_way;
    submit(next);
  }
}

void SamplingClientState::submit(const SamplePointer& sample) {
  ++sample->submissions;
  auto body = wire::to_json(AsampleRequest{.sample = sample->request,
                                           .sampling_session_id = sampling_session_id,
                                           .seq_id = next_seq_id++});
  if (!body)
    return finish(sample, fail(std::move(body.error())));
  auto call = HttpCall{"asample",
                       make_request(Endpoint::asample, std::move(*body), make_idempotency_key(),
                                    context.request_timeout),
                       context.retry};
  self->request(context.http, caf::infinite, std::move(call))
      .then([this, sample](const HttpResponse& response) { await_result(sample, response); },
            [this, sample](const caf::error& error) { on_error(sample, from_caf(error)); });
}

void SamplingClientState::await_result(const SamplePointer& sample, const HttpResponse& response) {
  auto future = wire::from_json<FutureRef>(response.body);
  if (!future)
    return finish(sample, fail(std::move(future.error())));
  self->request(
          context.pollers, caf::infinite,
          PollJob{std::move(*future), RequestType::sample, self->clock().now(), response.elapsed})
      .then(
          [this, sample](FutureValue& value) {
            if (auto* result = std::get_if<SampleResponse>(&value))
              finish(sample, std::move(*result));
            else
              finish(sample, fail(Errc::protocol_error, "the result is not that of a sample"));
          },
          [this, sample](const caf::error& error) { on_error(sample, from_caf(error)); });
}

void SamplingClientState::on_error(const SamplePointer& sample, Error error) {
  // A sample leaves no trace in the model, so one whose result was dropped can be drawn again.
  if (error.code == Errc::future_expired && sample->submissions < max_submissions)
    submit(sample);
  else
    finish(sample, fail(std::move(error)));
}

void SamplingClientState::finish(const SamplePointer& sample, Result<SampleResponse> result) {
  --under_way;
  sample->done(std::move(result));
  submit_waiting();
}

SamplingClientActor::behavior_type sampling_client(SamplingClientState::SelfPointer self,
                                                   ClientContext context, CreateSamplingClient spec,
                                                   std::int64_t number) {
  self->state.context = std::move(context);
  self->state.spec = std::move(spec);
  self->state.number = number;
  return {
      [self](atom::open) { return self->state.open(); },
      [self](SampleRequest& request) {
        auto answer = owe<SampleResponse>(self);
        self->state.sample(std::move(request), [answer](Result<SampleResponse> result) {
          answer.settle(std::move(result));
        });
        return answer.promise();
      },
      [self](atom::compute_logprobs, ModelInput& prompt) {
        auto answer = owe<PromptLogprobs>(self);
        auto request = SampleRequest{.prompt = std::move(prompt),
                                     .sampling_params = {.max_tokens = 1},
                                     .include_prompt_logprobs = true};
        self->state.sample(std::move(request), [answer](Result<SampleResponse> result) {
          if (!result)
            answer.fail(std::move(result.error()));
          else if (!result->prompt_logprobs)
            answer.fail({Errc::protocol_error, "the sample came without `prompt_logprobs`"});
          else
            answer.deliver(std::move(*result->prompt_logprobs));
        });
        return answer.promise();
      },
  };
}

} // namespace tinkaf
