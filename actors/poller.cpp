// SPDX-License-Identifier: Apache-2.0
#include "actors/poller.hpp"

#include "actors/http_actor.hpp"
#include "api/endpoint.hpp"
#include "api/random.hpp"
#include "api/wire/error_body.hpp"
#include "api/wire/future.hpp"
#include "api/wire/json.hpp"

#include <string>
#include <utility>
#include <variant>

namespace tinkaf {

namespace {

using Millis = std::chrono::milliseconds;

template <class Duration>
Millis millis(Duration time) {
  return std::chrono::duration_cast<Millis>(time);
}

} // namespace

PollMoment PollerState::moment() {
  auto now = self->clock().now();
  return {millis(now - job.submitted), millis(now - poll_began), random_draw()};
}

void PollerState::poll() {
  poll_began = self->clock().now();
  auto key = make_idempotency_key();
  auto request = make_request(
      Endpoint::retrieve_future,
      wire::to_json(RetrieveFutureRequest{job.future.request_id, allow_metadata_only}), key,
      pacer.poll_timeout(millis(poll_began - job.submitted)));
  request.headers
      = poll_headers(job.type, polls, polls == 0 ? job.roundtrip : std::nullopt, settings.format);
  ++polls;
  self->request(http, caf::infinite, std::move(request))
      .then([this](HttpResponse& response) { on_response(response); },
            [this](const caf::error& error) {
              // An HTTP actor that is gone will not answer the next poll either.
              if (is_ours(error) && from_caf(error).code != Errc::cancelled)
                on_error(from_caf(error));
              else
                fail(from_caf(error));
            });
}

void PollerState::on_response(const HttpResponse& response) {
  if (response.status == 408)
    return on(wire::read_pending(response));
  if (response.status < 200 || response.status >= 300)
    return on_error(wire::read_error("retrieve_future", response));
  auto outcome = wire::read_future(job.type, response);
  if (!outcome)
    return fail(std::move(outcome.error()));
  std::visit([this](auto& x) { on(std::move(x)); }, *outcome);
}

void PollerState::on_error(Error error) {
  go_on(pacer.after_error(std::move(error), moment()));
}

void PollerState::on(FuturePending pending) {
  auto paused = pending.queue_state == QueueState::paused_capacity
                || pending.queue_state == QueueState::paused_rate_limit;
  if (paused && pending.queue_state != queue_state && settings.notices)
    settings.notices(
        {Severity::warning, "the service makes " + std::string{to_string(job.type)} + " wait: "
                                + (pending.queue_state_reason.empty()
                                       ? std::string{wire::to_string(pending.queue_state)}
                                       : pending.queue_state_reason)});
  queue_state = pending.queue_state;
  go_on(pacer.after_pending(pending, moment()));
}

void PollerState::on(const FutureTooLarge&) {
  if (!allow_metadata_only)
    return fail({Errc::protocol_error, "the service announced a result's size twice"});
  allow_metadata_only = false;
  poll();
}

void PollerState::on(const FutureFailed& failed) {
  fail({Errc::request_failed, failed.error, failed.category});
}

void PollerState::on(FutureValue value) {
  answer.deliver(std::move(value));
  self->quit();
}

void PollerState::go_on(Result<Millis> pause) {
  if (!pause)
    fail(std::move(pause.error()));
  else if (pause->count() == 0)
    poll();
  else
    self->delayed_send(self, *pause, atom::poll_v);
}

void PollerState::fail(Error error) {
  error.request_id = job.future.request_id;
  answer.deliver(to_caf(std::move(error)));
  self->quit();
}

PollerActor::behavior_type poller(PollerState::SelfPointer self, HttpActor http,
                                  PollerSettings settings) {
  self->state.http = std::move(http);
  self->state.pacer = PollPacer{settings.policy};
  self->state.settings = std::move(settings);
  return {
      [self](PollJob& job) {
        auto& state = self->state;
        state.job = std::move(job);
        state.answer = self->make_response_promise<FutureValue>();
        state.poll();
        return state.answer;
      },
      [self](atom::poll) { self->state.poll(); },
  };
}

} // namespace tinkaf
