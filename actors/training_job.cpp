// SPDX-License-Identifier: Apache-2.0
#include "actors/training_job.hpp"

#include "actors/exceptions.hpp"

#include <caf/send.hpp>

#include <exception>
#include <string>
#include <utility>

namespace tinkaf {

namespace {

/// Calls a job's function; what it throws is an error that passes.
Result<JobEnd> call(const JobFn& function, const JobRun& run) {
  try {
    return function(run);
  } catch (const std::exception& error) {
    return fail({.code = Errc::internal,
                 .message = std::string{"the job's function threw: "} + error.what(),
                 .should_retry = true});
  } catch (...) {
    return fail({.code = Errc::internal,
                 .message = "the job's function threw something that is no std::exception",
                 .should_retry = true});
  }
}

} // namespace

TrainingJobState::~TrainingJobState() {
  stop.request_stop();
  if (!started && thread_ended)
    thread_ended();
}

caf::typed_response_promise<JobEnd> TrainingJobState::run() {
  answer = owe<JobEnd>(self);
  started = true;
  auto promise = answer->promise();
  // The thread must not keep the actor, which waits for it.
  auto thread = threads->run([weak = caf::actor_cast<caf::weak_actor_ptr>(self),
                              function = std::move(function), report = report, ended = thread_ended,
                              token = stop.get_token()]() mutable {
    auto outcome = std::make_shared<Result<JobEnd>>(call(function, {token, report}));
    function = nullptr; // what it holds is let go before anybody hears of its end
    if (auto strong = weak.lock())
      caf::anon_send(caf::actor_cast<TrainingJobActor>(strong), atom::ended_v, outcome);
    ended();
  });
  if (!thread) {
    answer->fail(std::move(thread.error()));
    thread_ended();
  }
  return promise;
}

TrainingJobActor::behavior_type
training_job(TrainingJobActor::stateful_pointer<TrainingJobState> self, JobFn function,
             std::shared_ptr<LossThreads> threads, std::function<void(const JobProgress&)> report,
             std::function<void()> thread_ended) {
  end_on_exception(self);
  auto& state = self->state;
  state.function = std::move(function);
  state.threads = std::move(threads);
  state.report = std::move(report);
  state.thread_ended = std::move(thread_ended);
  return {
      [self](atom::run) { return self->state.run(); },
      [self](atom::stop) { self->state.stop.request_stop(); },
      [self](atom::ended, const JobOutcome& outcome) {
        if (self->state.answer)
          self->state.answer->settle(*outcome);
      },
  };
}

} // namespace tinkaf
