// SPDX-License-Identifier: Apache-2.0
#include "actors/job_supervisor.hpp"

#include "actors/exceptions.hpp"
#include "actors/start_sink.hpp"
#include "actors/training_job.hpp"

#include <caf/send.hpp>

#include <algorithm>
#include <utility>

namespace tinkaf {

namespace {

/// How long the end of a supervisor waits for functions that were asked to stop.
constexpr std::chrono::milliseconds patience{5'000};

Error broke(const caf::error& reason) {
  return {.code = Errc::internal,
          .message = "the job's actor broke: " + caf::to_string(reason),
          .should_retry = true};
}

} // namespace

JobSupervisorState::~JobSupervisorState() {
  for (auto& [key, job] : jobs)
    if (job.child)
      self->send_exit(job.child, caf::exit_reason::user_shutdown);
}

// --- what is asked for ---------------------------------------------------------------------------

caf::result<Done> JobSupervisorState::add(StartJob spec) {
  if (spec.name.empty() || !spec.run)
    return to_caf({Errc::invalid_argument, "a job needs a `name` and a function to `run`"});
  if (auto valid = validate(spec.restarts, "restarts"); !valid)
    return to_caf(std::move(valid.error()));
  if (auto* known = find(spec.name); known != nullptr)
    return to_caf({Errc::conflict, "there is a job `" + spec.name + "` already, which is "
                                       + to_string(known->status.state)});
  auto key = spec.name;
  auto& job = jobs[key];
  job.status.name = key;
  job.order = ++last_order;
  job.spec = std::move(spec);
  start_waiting();
  return Done{};
}

caf::result<Done> JobSupervisorState::pause(const std::string& name_of_job) {
  auto* job = find(name_of_job);
  if (job == nullptr)
    return unknown(name_of_job);
  if (is_end(job->status.state))
    return to_caf({Errc::conflict, "the job `" + name_of_job + "` is at its end: it is "
                                       + to_string(job->status.state)});
  if (job->wish == Wish::cancel)
    return to_caf({Errc::conflict, "the job `" + name_of_job + "` is being cancelled"});
  stop(*job, Wish::pause);
  return Done{};
}

caf::result<Done> JobSupervisorState::resume(const std::string& name_of_job) {
  auto* job = find(name_of_job);
  if (job == nullptr)
    return unknown(name_of_job);
  if (job->wish == Wish::pause)
    job->wish = Wish::none; // one that is stopping goes on once it has stopped
  else if (job->status.state != JobState::paused)
    return to_caf({Errc::conflict, "the job `" + name_of_job + "` is not paused: it is "
                                       + to_string(job->status.state)});
  if (job->status.state == JobState::paused)
    job->status.state = JobState::waiting;
  start_waiting();
  return Done{};
}

caf::result<Done> JobSupervisorState::cancel(const std::string& name_of_job) {
  auto* job = find(name_of_job);
  if (job == nullptr)
    return unknown(name_of_job);
  if (!is_end(job->status.state))
    stop(*job, Wish::cancel);
  return Done{};
}

caf::result<Done> JobSupervisorState::forget(const std::string& name_of_job) {
  auto* job = find(name_of_job);
  if (job == nullptr)
    return unknown(name_of_job);
  if (!is_end(job->status.state))
    return to_caf({Errc::conflict, "the job `" + name_of_job + "` is "
                                       + to_string(job->status.state) + ": cancel it first"});
  jobs.erase(name_of_job);
  return Done{};
}

caf::typed_response_promise<JobStatus> JobSupervisorState::wait(const std::string& name_of_job) {
  auto answer = owe<JobStatus>(self);
  if (auto* job = find(name_of_job); job == nullptr)
    answer.fail(from_caf(unknown(name_of_job)));
  else if (is_end(job->status.state))
    answer.deliver(job->status);
  else
    job->waiters.push_back(answer);
  return answer.promise();
}

JobStatuses JobSupervisorState::statuses() const {
  std::vector<const Job*> ordered;
  for (const auto& [key, job] : jobs)
    ordered.push_back(&job);
  std::sort(ordered.begin(), ordered.end(),
            [](const Job* a, const Job* b) { return a->order < b->order; });
  JobStatuses result;
  for (const auto* job : ordered)
    result.push_back(job->status);
  return result;
}

// --- starting and stopping -----------------------------------------------------------------------

void JobSupervisorState::start_waiting() {
  std::size_t running = 0;
  std::vector<Job*> waiting;
  for (auto& [key, job] : jobs) {
    running += job.on_thread || job.child ? 1U : 0U;
    if (job.status.state == JobState::waiting && !job.on_thread)
      waiting.push_back(&job);
  }
  std::sort(waiting.begin(), waiting.end(),
            [](const Job* a, const Job* b) { return a->order < b->order; });
  for (auto* job : waiting) {
    if (settings.max_running != 0 && running >= settings.max_running)
      return;
    start(*job);
    ++running;
  }
}

void JobSupervisorState::start(Job& job) {
  auto key = job.status.name;
  auto number = ++job.start;
  auto me = caf::actor_cast<caf::weak_actor_ptr>(self);
  auto tell = [me](auto... message) {
    if (auto strong = me.lock())
      caf::anon_send(caf::actor_cast<JobSupervisorActor>(strong), std::move(message)...);
  };
  job.outcome.reset();
  job.on_thread = true;
  job.asked_to_stop = false;
  job.status.state = JobState::running;
  job.child = self->spawn(
      training_job, job.spec.run, settings.threads,
      [tell, key, number](const JobProgress& progress) {
        tell(atom::progress_v, key, number, progress);
      },
      [tell, key, number] { tell(atom::ended_v, key, number); });
  tell_start(job.spec.restarts, job.child);
  self->request(job.child, caf::infinite, atom::run_v)
      .then([this, key, number](JobEnd end) { on_outcome(key, number, end); },
            [this, key, number](const caf::error& error) {
              auto ours = is_ours(error) && from_caf(error).code != Errc::cancelled
                              ? from_caf(error)
                              : broke(error);
              on_outcome(key, number, fail(std::move(ours)));
            });
}

void JobSupervisorState::stop(Job& job, Wish wish) {
  job.wish = wish;
  if (job.child || job.on_thread) {
    job.status.state = JobState::stopping;
    job.asked_to_stop = true;
    if (job.child)
      self->send(job.child, atom::stop_v);
    return;
  }
  settle(job, wish == Wish::pause ? JobState::paused : JobState::cancelled);
}

void JobSupervisorState::on_outcome(const std::string& name_of_job, std::uint64_t start,
                                    Result<JobEnd> outcome) {
  auto* job = find(name_of_job);
  if (job == nullptr || job->start != start || job->outcome)
    return;
  job->outcome = std::move(outcome);
  if (job->child)
    self->send_exit(job->child, caf::exit_reason::user_shutdown);
  job->child = nullptr;
  if (!job->on_thread)
    go_on(*job);
}

void JobSupervisorState::on_thread_ended(const std::string& name_of_job, std::uint64_t start) {
  auto* job = find(name_of_job);
  if (job == nullptr || job->start != start)
    return;
  job->on_thread = false;
  if (job->outcome)
    go_on(*job);
}

void JobSupervisorState::go_on(Job& job) {
  auto outcome = std::move(*job.outcome);
  if (!outcome)
    job.status.last_error = outcome.error();
  if (outcome && *outcome == JobEnd::finished)
    settle(job, JobState::finished);
  else if (job.wish == Wish::cancel)
    settle(job, JobState::cancelled);
  else if (job.wish == Wish::pause || (outcome && !job.asked_to_stop))
    settle(job, JobState::paused);
  else if (outcome)
    job.status.state = JobState::waiting; // for a pause that was taken back
  else if (!is_retryable(outcome.error()))
    settle(job, JobState::failed);
  else if (auto delay = job.restarts.next_delay(job.spec.restarts, self->clock().now())) {
    job.status.state = JobState::restarting;
    ++job.status.restarts;
    self->delayed_send(self, *delay, atom::restart_v, job.status.name, job.start);
  } else {
    job.status.last_error->message = "given up after " + std::to_string(job.status.restarts)
                                     + " restarts: " + job.status.last_error->message;
    settle(job, JobState::failed);
  }
  start_waiting();
}

void JobSupervisorState::settle(Job& job, JobState state) {
  job.status.state = state;
  job.wish = Wish::none;
  if (!is_end(state))
    return;
  job.spec.run = nullptr;
  for (auto& waiter : std::exchange(job.waiters, {}))
    waiter.deliver(job.status);
}

JobSupervisorState::Job* JobSupervisorState::find(const std::string& name_of_job) {
  auto found = jobs.find(name_of_job);
  return found != jobs.end() ? &found->second : nullptr;
}

caf::error JobSupervisorState::unknown(const std::string& name_of_job) const {
  return to_caf({Errc::not_found, "there is no job `" + name_of_job + "`"});
}

// --- behaviour -----------------------------------------------------------------------------------

JobSupervisorActor::behavior_type job_supervisor(JobSupervisorState::SelfPointer self,
                                                 JobSupervisorSettings settings) {
  end_on_exception(self);
  if (!settings.threads)
    settings.threads = make_job_threads(patience);
  self->state.settings = std::move(settings);
  return {
      [self](StartJob& spec) { return self->state.add(std::move(spec)); },
      [self](atom::pause, const std::string& job) { return self->state.pause(job); },
      [self](atom::resume, const std::string& job) { return self->state.resume(job); },
      [self](atom::cancel, const std::string& job) { return self->state.cancel(job); },
      [self](atom::remove, const std::string& job) { return self->state.forget(job); },
      [self](atom::wait, const std::string& job) { return self->state.wait(job); },
      [self](atom::status) { return self->state.statuses(); },
      [self](atom::progress, const std::string& job, std::uint64_t start,
             const JobProgress& progress) {
        if (auto* known = self->state.find(job); known != nullptr && known->start == start)
          known->status.progress = progress;
      },
      [self](atom::ended, const std::string& job, std::uint64_t start) {
        self->state.on_thread_ended(job, start);
      },
      [self](atom::restart, const std::string& job, std::uint64_t start) {
        auto* known = self->state.find(job);
        if (known == nullptr || known->start != start
            || known->status.state != JobState::restarting)
          return;
        known->status.state = JobState::waiting;
        self->state.start_waiting();
      },
  };
}

JobSupervisorActor spawn_job_supervisor(caf::actor_system& system, JobSupervisorSettings settings) {
  return system.spawn(job_supervisor, std::move(settings));
}

} // namespace tinkaf
