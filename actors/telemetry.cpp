// SPDX-License-Identifier: Apache-2.0
#include "actors/telemetry.hpp"

#include "actors/exceptions.hpp"
#include "api/backoff.hpp"
#include "api/endpoint.hpp"
#include "api/headers.hpp"
#include "api/telemetry.hpp"
#include "api/wire/json.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tinkaf {

void TelemetryState::on_report(const TelemetryReport& report) {
  if (!status.enabled || queue.size() >= settings.max_queue) {
    ++status.dropped;
    return;
  }
  auto age = std::chrono::duration_cast<std::chrono::microseconds>(self->clock().now() - began);
  queue.push_back(make_event(report, next_index++, settings.wall_clock(), age));
  if (report.kind == TelemetryKind::unhandled_exception)
    flush();
}

void TelemetryState::flush() {
  if (sending || pausing || idle())
    return;
  if (batch.empty()) {
    auto count = std::min(queue.size(), settings.max_batch);
    auto end = queue.begin() + static_cast<std::ptrdiff_t>(count);
    batch.assign(std::make_move_iterator(queue.begin()), std::make_move_iterator(end));
    queue.erase(queue.begin(), end);
    tries = 0;
  }
  send();
}

void TelemetryState::send() {
  sending = true;
  ++tries;
  auto request = make_request(Endpoint::telemetry,
                              wire::to_json(telemetry_request(batch, settings.session_id)),
                              make_idempotency_key(), settings.request_timeout);
  self->request(http, caf::infinite, std::move(request))
      .then([this](const HttpResponse& response) { on_status(response.status); },
            [this](const caf::error&) { on_failure(); });
}

void TelemetryState::on_status(int code) {
  if (code >= 500 || code == 408 || code == 429)
    return on_failure();
  sending = false;
  if (code < 200 || code >= 300)
    return switch_off(); // it will not take the next batch either
  status.sent += batch.size();
  batch.clear();
  if (idle())
    settle_drain(true);
  else if (queue.size() >= settings.max_batch || drained)
    flush();
}

void TelemetryState::on_failure() {
  sending = false;
  if (drained)
    return settle_drain(false); // there is no time for another try
  auto pause = doubled(settings.first_pause, tries - 1, settings.max_pause);
  if (tries >= settings.max_tries)
    drop_batch();
  pausing = true;
  self->delayed_send(self, pause, atom::retry_v);
}

void TelemetryState::drop_batch() {
  status.dropped += batch.size();
  batch.clear();
}

void TelemetryState::switch_off() {
  drop_batch();
  status.dropped += queue.size();
  queue.clear();
  status.enabled = false;
  settle_drain(false);
}

caf::typed_response_promise<bool> TelemetryState::drain(std::chrono::milliseconds limit) {
  auto answer = owe<bool>(self);
  settle_drain(false);
  if (idle()) {
    answer.deliver(true);
    return answer.promise();
  }
  drained = answer;
  pausing = false;
  self->delayed_send(self, limit, atom::timeout_v);
  flush();
  return answer.promise();
}

void TelemetryState::settle_drain(bool all_sent) {
  if (drained)
    drained->deliver(all_sent);
  drained.reset();
}

TelemetryActor::behavior_type telemetry(TelemetryState::SelfPointer self, HttpActor http,
                                        TelemetrySettings settings) {
  end_on_exception(self);
  self->state.http = std::move(http);
  self->state.settings = std::move(settings);
  self->state.began = self->clock().now();
  self->delayed_send(self, self->state.settings.flush_interval, atom::tick_v);
  return {
      [self](TelemetryReport& report) { self->state.on_report(report); },
      [self](atom::flush) { self->state.flush(); },
      [self](atom::drain, caf::timespan limit) {
        return self->state.drain(std::chrono::duration_cast<std::chrono::milliseconds>(limit));
      },
      [self](atom::status) {
        auto status = self->state.status;
        status.queued = self->state.queue.size() + self->state.batch.size();
        return status;
      },
      [self](atom::tick) {
        self->delayed_send(self, self->state.settings.flush_interval, atom::tick_v);
        self->state.flush();
      },
      [self](atom::retry) {
        self->state.pausing = false;
        self->state.flush();
      },
      [self](atom::timeout) { self->state.settle_drain(false); },
  };
}

} // namespace tinkaf
