// SPDX-License-Identifier: Apache-2.0
#include "actors/recovery_executor.hpp"

#include "actors/exceptions.hpp"
#include "actors/recovery_attempt.hpp"

#include <fmt/format.h>

#include <utility>

namespace tinkaf {

RecoveryExecutorState::~RecoveryExecutorState() {
  for (auto& [run, job] : jobs)
    if (job.attempt)
      self->send_exit(job.attempt, caf::exit_reason::user_shutdown);
}

caf::typed_response_promise<RecoveredRun> RecoveryExecutorState::add(RecoverRun wanted) {
  auto answer = owe<RecoveredRun>(self);
  auto run = wanted.run.training_run_id;
  if (!settings.policy.enabled) {
    answer.fail({Errc::invalid_argument,
                 "recovery is disabled: set `enabled` in the policy to have it",
                 ErrorCategory::user});
  } else if (jobs.contains(run)) {
    answer.fail({Errc::conflict, "training run " + run + " is being recovered already",
                 ErrorCategory::user});
  } else {
    jobs.emplace(run, Job{.wanted = std::move(wanted), .answer = answer});
    waiting.push_back(std::move(run));
    start_waiting();
  }
  return answer.promise();
}

void RecoveryExecutorState::start_waiting() {
  while (!waiting.empty() && by_attempt.size() < settings.policy.max_concurrent) {
    auto run = std::move(waiting.front());
    waiting.pop_front();
    start(run);
  }
}

void RecoveryExecutorState::start(const std::string& run) {
  auto& job = jobs.at(run);
  job.attempt = self->spawn(recovery_attempt, settings);
  self->monitor(job.attempt);
  auto address = job.attempt.address();
  by_attempt.emplace(address, run);
  self->request(job.attempt, caf::infinite,
                RecoveryAttempt{job.wanted, ++job.attempts, job.refused})
      .then(
          [this, run, address](RecoveryAttemptEnd& end) {
            if (by_attempt.contains(address)) // else it has been given up
              on_end(run, std::move(end));
          },
          [](const caf::error&) {}); // it broke: `on_down` sees to it
}

void RecoveryExecutorState::on_end(const std::string& run, RecoveryAttemptEnd end) {
  auto& job = jobs.at(run);
  leave(job);
  if (!end.result) {
    // What the service does not know any more is no use at the next try.
    auto gone = end.result.error().code == Errc::not_found && !end.checkpoint.empty();
    if (gone)
      job.refused.insert(end.checkpoint);
    auto hopeless = gone && settings.policy.strategy == RecoveryStrategy::specific;
    on_failure(run, std::move(end.result.error()), end.is_final || hopeless);
  } else {
    if (job.wanted.run.client)
      self->send_exit(job.wanted.run.client, caf::exit_reason::user_shutdown);
    auto answer = job.answer;
    jobs.erase(run);
    answer.deliver(std::move(*end.result));
  }
  start_waiting();
}

void RecoveryExecutorState::on_failure(const std::string& run, Error error, bool is_final) {
  auto& job = jobs.at(run);
  tell(settings, {RecoveryEventKind::failed, run, job.attempts, to_string(error)});
  if (!is_final && job.attempts < settings.policy.max_attempts) {
    self->delayed_send(self, next_delay(settings.policy, job.attempts + 1, draw()), atom::retry_v,
                       run);
    return;
  }
  if (!is_final) {
    error.message = fmt::format("training run {} could not be recovered in {} tries: {}", run,
                                job.attempts, error.message);
    error.code = Errc::gave_up;
  }
  auto answer = job.answer;
  jobs.erase(run);
  answer.fail(std::move(error));
}

void RecoveryExecutorState::on_down(const caf::down_msg& down) {
  auto found = by_attempt.find(down.source);
  if (found == by_attempt.end())
    return;
  auto run = found->second;
  leave(jobs.at(run));
  on_failure(run, {Errc::internal, "the try broke: " + caf::to_string(down.reason)}, false);
  start_waiting();
}

RecoveryLoad RecoveryExecutorState::load() const {
  RecoveryLoad result;
  for (const auto& [run, job] : jobs) {
    if (job.attempt)
      result.attempts.push_back(caf::actor_cast<caf::actor>(job.attempt));
    else
      ++result.waiting;
  }
  return result;
}

void RecoveryExecutorState::leave(Job& job) {
  self->demonitor(job.attempt.address());
  by_attempt.erase(job.attempt.address());
  job.attempt = nullptr;
}

RecoveryExecutorActor::behavior_type recovery_executor(RecoveryExecutorState::SelfPointer self,
                                                       RecoverySettings settings,
                                                       std::function<double()> draw) {
  end_on_exception(self);
  self->state.settings = std::move(settings);
  self->state.draw = std::move(draw);
  self->set_down_handler([self](const caf::down_msg& x) { self->state.on_down(x); });
  return {
      [self](RecoverRun& wanted) { return self->state.add(std::move(wanted)); },
      [self](atom::status) { return self->state.load(); },
      [self](atom::retry, std::string& run) {
        auto& state = self->state;
        if (!state.jobs.contains(run))
          return;
        state.waiting.push_back(std::move(run));
        state.start_waiting();
      },
  };
}

} // namespace tinkaf
