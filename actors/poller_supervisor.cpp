// SPDX-License-Identifier: Apache-2.0
#include "actors/poller_supervisor.hpp"

#include <utility>

namespace tinkaf {

namespace {

Error gave_up(const PollJob& job, std::uint32_t restarts, const std::string& why) {
  return {.code = Errc::gave_up,
          .message = std::string{"waiting for "} + to_string(job.type) + " broke "
                     + std::to_string(restarts) + " times: " + why,
          .category = ErrorCategory::server,
          .request_id = job.future.request_id};
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
  jobs.emplace(id, Entry{std::move(job), answer, caller, {}, 0});
  start(id);
  return answer.promise();
}

void PollerSupervisorState::start(std::uint64_t id) {
  auto found = jobs.find(id);
  if (found == jobs.end() || found->second.child)
    return;
  auto& entry = found->second;
  entry.child = self->spawn(poller, http, settings);
  by_child.emplace(entry.child.address(), id);
  self->monitor(entry.child);
  self->request(entry.child, caf::infinite, entry.job)
      .then(
          [this, id](FutureValue& value) {
            if (jobs.contains(id))
              take(id).answer.deliver(std::move(value));
          },
          [this, id](const caf::error& error) {
            // Errors of CAF's own mean that the poller broke: `on_down` starts it again.
            if (is_ours(error) && jobs.contains(id))
              take(id).answer.fail(from_caf(error));
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
  ++entry.restarts;
  if (!counter.note(policy, self->clock().now()))
    return give_up_all(reason);
  auto delay = policy.next_delay(entry.restarts);
  if (delay) {
    self->delayed_send(self, *delay, atom::restart_v, id);
    return;
  }
  auto ended = take(id);
  ended.answer.fail(gave_up(ended.job, ended.restarts, caf::to_string(reason)));
}

void PollerSupervisorState::give_up_all(const caf::error& reason) {
  counter.clear();
  while (!jobs.empty()) {
    auto ended = take(jobs.begin()->first);
    ended.answer.fail(
        gave_up(ended.job, ended.restarts,
                "too many pollers broke at once, the last by " + caf::to_string(reason)));
  }
}

PollerStatuses PollerSupervisorState::statuses() const {
  PollerStatuses result;
  for (const auto& [id, entry] : jobs)
    result.push_back({entry.job.future.request_id, entry.child, entry.restarts});
  return result;
}

PollerSupervisorActor::behavior_type poller_supervisor(PollerSupervisorState::SelfPointer self,
                                                       HttpActor http, PollerSettings settings,
                                                       RestartPolicy policy) {
  self->state.http = std::move(http);
  self->state.settings = std::move(settings);
  self->state.policy = policy;
  self->set_down_handler([self](const caf::down_msg& x) { self->state.on_down(x); });
  return {
      [self](PollJob& job) { return self->state.add(std::move(job)); },
      [self](atom::status) { return self->state.statuses(); },
      [self](atom::restart, std::uint64_t id) { self->state.start(id); },
  };
}

} // namespace tinkaf
