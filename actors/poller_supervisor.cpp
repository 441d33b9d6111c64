// SPDX-License-Identifier: Apache-2.0
#include "actors/poller_supervisor.hpp"

#include "actors/exceptions.hpp"
#include "actors/exit_reasons.hpp"
#include "actors/start_sink.hpp"
#include "api/telemetry.hpp"
#include "api/wire/future.hpp"

#include <utility>
#include <vector>

namespace tinkaf {

namespace {

Error gave_up(const PollJob& job, std::uint32_t restarts, const std::string& why) {
  return {.code = Errc::gave_up,
          .message = std::string{"waiting for "} + to_string(job.type) + " broke "
                     + std::to_string(restarts) + " times: " + why,
          .category = ErrorCategory::server,
          .request_id = job.future.request_id};
}

/// What a change of the queue state means for people, the service's words first.
Notice notice_of(const QueueStateChange& change) {
  auto what = std::string{to_string(change.type)};
  if (change.state == QueueState::active)
    return {Severity::info, "the service goes on with " + what};
  auto why = change.reason;
  if (why.empty() && change.state == QueueState::paused_rate_limit)
    why = change.type == RequestType::sample ? "too many sampler weights are in use at once"
                                             : "too many training clients are at work at once";
  else if (why.empty() && change.state == QueueState::paused_capacity)
    why = "it is short of capacity";
  else if (why.empty())
    why = "it does not say why";
  return {Severity::warning, "the service makes " + what + " wait: " + why};
}

} // namespace

PollerSupervisorState::~PollerSupervisorState() {
  for (auto& [id, entry] : jobs)
    if (entry.child)
      self->send_exit(entry.child, caf::exit_reason::user_shutdown);
}

caf::typed_response_promise<FutureValue> PollerSupervisorState::add(PollJob job) {
  auto id = ++last_id;
  auto sender = self->current_sender(); // the promise takes it away
  auto caller = caf::actor_cast<caf::actor_addr>(sender);
  auto answer = owe<FutureValue>(self);
  if (caller) {
    auto& ids = by_caller[caller];
    if (ids.empty())
      self->monitor(sender);
    ids.insert(id);
  }
  jobs.emplace(id, Entry{.job = std::move(job), .answer = answer, .caller = caller});
  start(id);
  return answer.promise();
}

void PollerSupervisorState::start(std::uint64_t id) {
  auto found = jobs.find(id);
  if (found == jobs.end() || found->second.child)
    return;
  auto& entry = found->second;
  entry.child = self->spawn(poller, http, settings, PollerSupervisorActor{self});
  by_child.emplace(entry.child.address(), id);
  self->monitor(entry.child);
  tell_start(policy, entry.child);
  self->request(entry.child, caf::infinite, entry.job)
      .then(
          [this, id](FutureValue& value) {
            if (jobs.contains(id))
              take(id).answer.deliver(std::move(value));
          },
          [this, id](const caf::error& error) {
            // Errors of CAF's own mean that the poller broke: `on_down` starts it again.
            if (is_ours(error) && jobs.contains(id))
              fail(id, from_caf(error));
          });
}

PollerSupervisorState::Entry PollerSupervisorState::take(std::uint64_t id) {
  auto node = jobs.extract(id);
  auto& entry = node.mapped();
  if (entry.child) {
    by_child.erase(entry.child.address());
    self->demonitor(entry.child.address());
    self->send_exit(entry.child, caf::exit_reason::user_shutdown);
  }
  if (auto caller = by_caller.find(entry.caller); caller != by_caller.end()) {
    caller->second.erase(id);
    if (caller->second.empty()) {
      self->demonitor(caller->first);
      by_caller.erase(caller);
    }
  }
  return std::move(entry);
}

void PollerSupervisorState::fail(std::uint64_t id, Error error) {
  auto ended = take(id);
  if (telemetry && error.code != Errc::cancelled)
    self->send(telemetry,
               failed_result_report(ended.job.type, error,
                                    std::chrono::duration_cast<std::chrono::milliseconds>(
                                        self->clock().now() - ended.job.submitted)));
  ended.answer.fail(std::move(error));
}

void PollerSupervisorState::on_down(const caf::down_msg& down) {
  if (auto child = by_child.find(down.source); child != by_child.end()) {
    auto id = child->second;
    by_child.erase(child);
    restart(id, down.reason);
  } else if (auto caller = by_caller.extract(down.source); !caller.empty()) {
    for (auto id : caller.mapped())
      if (jobs.contains(id))
        take(id);
  }
}

void PollerSupervisorState::restart(std::uint64_t id, const caf::error& reason) {
  auto found = jobs.find(id);
  if (found == jobs.end())
    return;
  auto& entry = found->second;
  entry.child = nullptr;
  ++restarts;
  entry.last_reason = describe_exit(reason);
  auto delay = entry.restarts.next_delay(policy, self->clock().now());
  if (delay) {
    self->delayed_send(self, *delay, atom::restart_v, id);
    return;
  }
  fail(id, gave_up(entry.job, entry.restarts.total(), entry.last_reason));
}

void PollerSupervisorState::cancel(const caf::actor_addr& caller, std::uint64_t call) {
  auto ids = by_caller.find(caller);
  if (ids == by_caller.end())
    return;
  for (auto id : std::vector<std::uint64_t>{ids->second.begin(), ids->second.end()})
    if (jobs.at(id).job.call == call) {
      auto ended = take(id);
      ended.answer.fail({.code = Errc::cancelled,
                         .message = "the wait for the result was given up",
                         .request_id = ended.job.future.request_id});
    }
}

void PollerSupervisorState::on_queue_state(const caf::actor_addr& child,
                                           const QueueStateChange& change) {
  auto id = by_child.find(child);
  if (id == by_child.end())
    return;
  auto& entry = jobs.at(id->second);
  // A poller that was started again sees its first state anew.
  if (entry.queue_state == change.state && entry.queue_state_reason == change.reason)
    return;
  auto waited = entry.queue_state != QueueState::unknown || !entry.queue_state_reason.empty();
  entry.queue_state = change.state;
  entry.queue_state_reason = change.reason;
  try {
    if (settings.queue_states)
      settings.queue_states(change);
    if (settings.notices && (waited || change.state != QueueState::active))
      settings.notices(notice_of(change));
  } catch (...) { // NOLINT(bugprone-empty-catch): what the user's code throws stops no wait
  }
}

PollerStatuses PollerSupervisorState::statuses() const {
  PollerStatuses result;
  for (const auto& [id, entry] : jobs)
    result.push_back({.request_id = entry.job.future.request_id,
                      .type = entry.job.type,
                      .caller = entry.caller,
                      .call = entry.job.call,
                      .queue_state = entry.queue_state,
                      .queue_state_reason = entry.queue_state_reason,
                      .poller = entry.child,
                      .restarts = entry.restarts.total(),
                      .last_reason = entry.last_reason});
  return result;
}

CallStatus PollerSupervisorState::status_of(const caf::actor_addr& caller,
                                            std::uint64_t call) const {
  CallStatus result;
  auto ids = by_caller.find(caller);
  if (ids == by_caller.end())
    return result;
  for (auto id : ids->second) {
    const auto& entry = jobs.at(id);
    if (entry.job.call == call)
      result.results.push_back({.request_id = entry.job.future.request_id,
                                .type = entry.job.type,
                                .queue_state = entry.queue_state,
                                .queue_state_reason = entry.queue_state_reason});
  }
  return result;
}

PollerSupervisorActor::behavior_type poller_supervisor(PollerSupervisorState::SelfPointer self,
                                                       HttpActor http, PollerSettings settings,
                                                       RestartPolicy policy) {
  end_on_exception(self);
  self->state.http = std::move(http);
  self->state.settings = std::move(settings);
  self->state.policy = policy;
  self->set_down_handler([self](const caf::down_msg& x) { self->state.on_down(x); });
  return {
      [self](PollJob& job) { return self->state.add(std::move(job)); },
      [self](atom::status) { return self->state.statuses(); },
      [self](atom::status, std::uint64_t call) {
        return self->state.status_of(caf::actor_cast<caf::actor_addr>(self->current_sender()),
                                     call);
      },
      [self](atom::report_to, const TelemetryActor& telemetry) {
        self->state.telemetry = telemetry;
      },
      [self](atom::metrics, bool reset) {
        return reset ? std::exchange(self->state.restarts, 0) : self->state.restarts;
      },
      [self](atom::cancel, std::uint64_t call) {
        self->state.cancel(caf::actor_cast<caf::actor_addr>(self->current_sender()), call);
      },
      [self](const QueueStateChange& change) {
        self->state.on_queue_state(caf::actor_cast<caf::actor_addr>(self->current_sender()),
                                   change);
      },
      [self](atom::restart, std::uint64_t id) { self->state.start(id); },
  };
}

} // namespace tinkaf
