// SPDX-License-Identifier: Apache-2.0
#include "actors/poller.hpp"

#include "actors/ask_again.hpp"
#include "actors/exceptions.hpp"
#include "actors/http_actor.hpp"
#include "api/endpoint.hpp"
#include "api/random.hpp"
#include "api/wire/error_body.hpp"
#include "api/wire/future.hpp"
#include "api/wire/json.hpp"

#include <algorithm>
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
      .then(
          [this](HttpResponse& response) {
            broken = 0;
            on_response(response);
          },
          [this](const caf::error& error) {
            if (has_broken(error) && broken++ < max_repeats)
              poll(); // of the one that is started in its place
            else if (is_ours(error) && from_caf(error).code != Errc::cancelled)
              on_error(from_caf(error));
            else
              fail(from_caf(error));
          });
}

void PollerState::on_response(const HttpResponse& response) {
  if (response.status == 408) {
    auto pending = wire::read_pending(response);
    if (pending.queue_state != QueueState::unknown)
      pacer.forgive_bad_requests();
    return on(std::move(pending));
  }
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
  auto told = pending.queue_state != QueueState::unknown || !pending.queue_state_reason.empty();
  if (told
      && (pending.queue_state != queue_state || pending.queue_state_reason != queue_state_reason)) {
    queue_state = pending.queue_state;
    queue_state_reason = pending.queue_state_reason;
    self->send(supervisor,
               QueueStateChange{job.future.request_id, job.type, queue_state, queue_state_reason});
  }
  go_on(pacer.after_pending(pending, moment()));
}

void PollerState::on(const FutureTooLarge& announced) {
  if (!allow_metadata_only)
    return fail({Errc::protocol_error, "the service announced a result's size twice"});
  if (!settings.response_budget)
    return fetch_whole();
  auto limit = caf::duration{caf::infinite};
  if (settings.policy.deadline)
    limit = caf::duration{std::max(
        *settings.policy.deadline - millis(self->clock().now() - job.submitted), Millis{1})};
  // The grant ends with this poller.
  self->request(settings.response_budget, limit, atom::acquire_v, announced.response_payload_size)
      .then([this](std::uint64_t) { fetch_whole(); },
            [this, announced](const caf::error& error) {
              if (error == caf::sec::request_timeout)
                go_on(pacer.after_pending({}, moment()));
              else if (has_broken(error) && broken++ < max_repeats)
                on(announced); // of the one that is started in its place
              else
                fail(from_caf(error));
            });
}

void PollerState::fetch_whole() {
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
  if (!pause) {
    auto& error = pause.error();
    if (error.code == Errc::timeout)
      error.message = story() + error.message;
    fail(std::move(error));
  } else if (pause->count() == 0) {
    poll();
  } else {
    self->delayed_send(self, *pause, atom::poll_v);
  }
}

std::string PollerState::story() {
  auto text = std::string{to_string(job.type)} + " has no result "
              + std::to_string(millis(self->clock().now() - job.submitted).count())
              + " ms after its submission; its queue state is " + wire::to_string(queue_state);
  if (!queue_state_reason.empty())
    text += " (" + queue_state_reason + ")";
  return text + "; ";
}

void PollerState::fail(Error error) {
  error.request_id = job.future.request_id;
  answer.deliver(to_caf(std::move(error)));
  self->quit();
}

PollerActor::behavior_type poller(PollerState::SelfPointer self, HttpActor http,
                                  PollerSettings settings, PollerSupervisorActor supervisor) {
  end_on_exception(self);
  self->state.http = std::move(http);
  self->state.supervisor = std::move(supervisor);
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
