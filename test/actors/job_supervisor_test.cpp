// SPDX-License-Identifier: Apache-2.0
#include "actors/job_supervisor.hpp"

#include "test/actors/insides.hpp"
#include "test/actors/training_fixture.hpp"

#include <caf/send.hpp>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

using namespace tinkaf;
using namespace tinkaf::test;

namespace {

/// A supervisor whose jobs run when the test says so, on a clock that it moves.
struct JobsFixture : ActorFixture {
  JobSupervisorActor supervisor(std::size_t max_running = 0) {
    return spawn(job_supervisor, JobSupervisorSettings{max_running, threads});
  }

  /// A job that does what `script` says, a line for each start, and then finishes.
  StartJob job(std::string name,
               std::vector<std::function<Result<JobEnd>(const JobRun&)>> script = {}) {
    auto starts = std::make_shared<std::size_t>(0);
    return {.name = name,
            .run = [this, name, starts, script](const JobRun& given) -> Result<JobEnd> {
              started.push_back(name);
              auto number = (*starts)++;
              return number < script.size() ? script[number](given) : JobEnd::finished;
            },
            .restarts = {.max_restarts = 3,
                         .window = std::chrono::minutes{1},
                         .first_delay = std::chrono::milliseconds{100},
                         .max_delay = std::chrono::seconds{10}}};
  }

  static Result<JobEnd> fail_for_now(const JobRun&) {
    return fail(Errc::connection, "nobody is there");
  }

  static Result<JobEnd> end_as_asked(const JobRun& given) {
    return given.stop.stop_requested() ? Result<JobEnd>{JobEnd::stopped}
                                       : fail(Errc::internal, "nobody has asked");
  }

  void add(const JobSupervisorActor& jobs, StartJob spec) {
    auto answer = ask<Done>(jobs, std::move(spec));
    run();
    REQUIRE(answer->has_value());
    REQUIRE((*answer)->has_value());
  }

  template <class Atom>
  void tell(const JobSupervisorActor& jobs, Atom what, const std::string& name) {
    auto answer = ask<Done>(jobs, what, name);
    run();
    REQUIRE(answer->has_value());
    INFO(((*answer)->has_value() ? "" : (*answer)->error().message));
    REQUIRE((*answer)->has_value());
  }

  /// Lets the function that was started first run to its end.
  void run_function() {
    threads->run_one();
    run();
  }

  JobStatuses statuses(const JobSupervisorActor& jobs) {
    auto answer = ask<JobStatuses>(jobs, atom::status_v);
    run();
    return answer->value().value();
  }

  JobState state(const JobSupervisorActor& jobs) {
    return statuses(jobs).front().state;
  }

  std::shared_ptr<ManualLossThreads> threads = std::make_shared<ManualLossThreads>();
  std::vector<std::string> started;
};

} // namespace

TEST_CASE_METHOD(JobsFixture, "A job runs to its end and those who wait are told once",
                 "[actors][jobs]") {
  auto jobs = supervisor();
  add(jobs, job("a", {[](const JobRun& given) -> Result<JobEnd> {
                  given.report({3, 10, 1.5});
                  return JobEnd::finished;
                }}));
  auto end = ask<JobStatus>(jobs, atom::wait_v, std::string{"a"});
  run();
  CHECK(state(jobs) == JobState::running);
  CHECK_FALSE(end->has_value());
  run_function();
  REQUIRE(end->has_value());
  CHECK((*end)->value().state == JobState::finished);
  CHECK(statuses(jobs).front().progress.steps_done == 3);
  auto later = ask<JobStatus>(jobs, atom::wait_v, std::string{"a"});
  run();
  CHECK((*later)->value().state == JobState::finished);
}

TEST_CASE_METHOD(JobsFixture, "A job that fails for the moment is started again after a pause",
                 "[actors][jobs]") {
  auto jobs = supervisor();
  add(jobs, job("a", {fail_for_now, [](const JobRun&) -> Result<JobEnd> {
                        throw std::runtime_error{"out of luck"};
                      }}));
  run_function();
  CHECK(state(jobs) == JobState::restarting);
  pass(std::chrono::milliseconds{99});
  CHECK(threads->jobs.empty());
  pass(std::chrono::milliseconds{1});
  run_function();
  CHECK(statuses(jobs).front().last_error->message.find("out of luck") != std::string::npos);
  pass(std::chrono::milliseconds{200});
  run_function();
  CHECK(state(jobs) == JobState::finished);
  CHECK(statuses(jobs).front().restarts == 2);
  CHECK(started.size() == 3);
}

TEST_CASE_METHOD(JobsFixture, "A job that fails again and again is given up, and no other with it",
                 "[actors][jobs]") {
  auto jobs = supervisor();
  add(jobs, job("bad", {fail_for_now, fail_for_now, fail_for_now, fail_for_now, fail_for_now}));
  for (int i = 0; i < 4; ++i) {
    run_function();
    pass(std::chrono::seconds{1});
  }
  add(jobs, job("good"));
  auto status = statuses(jobs);
  CHECK(status[0].state == JobState::failed);
  CHECK(status[0].last_error->message == "given up after 3 restarts: nobody is there");
  run_function();
  CHECK(statuses(jobs)[1].state == JobState::finished);
}

TEST_CASE_METHOD(JobsFixture, "A job whose error no repeat cures fails at once", "[actors][jobs]") {
  auto jobs = supervisor();
  add(jobs, job("a", {[](const JobRun&) -> Result<JobEnd> {
                  return fail(Errc::invalid_argument, "steps is 0");
                }}));
  run_function();
  CHECK(state(jobs) == JobState::failed);
  CHECK(statuses(jobs).front().last_error->message == "steps is 0");
}

TEST_CASE_METHOD(JobsFixture, "A job is paused, and goes on when it is told to", "[actors][jobs]") {
  auto jobs = supervisor();
  add(jobs, job("a", {end_as_asked}));
  tell(jobs, atom::pause_v, "a");
  CHECK(state(jobs) == JobState::stopping);
  run_function();
  CHECK(state(jobs) == JobState::paused);
  pass(std::chrono::hours{1});
  CHECK(threads->jobs.empty());
  tell(jobs, atom::resume_v, "a");
  run_function();
  CHECK(state(jobs) == JobState::finished);
}

TEST_CASE_METHOD(JobsFixture, "A pause that is taken back in time makes the job go on by itself",
                 "[actors][jobs]") {
  auto jobs = supervisor();
  add(jobs, job("a", {end_as_asked}));
  tell(jobs, atom::pause_v, "a");
  tell(jobs, atom::resume_v, "a");
  run_function();
  CHECK(state(jobs) == JobState::running);
  run_function();
  CHECK(state(jobs) == JobState::finished);
}

TEST_CASE_METHOD(JobsFixture, "A job that stops by itself is paused until it is told to go on",
                 "[actors][jobs]") {
  auto jobs = supervisor();
  add(jobs, job("a", {[](const JobRun&) -> Result<JobEnd> { return JobEnd::stopped; }}));
  run_function();
  CHECK(state(jobs) == JobState::paused);
  CHECK(threads->jobs.empty());
  tell(jobs, atom::resume_v, "a");
  run_function();
  CHECK(state(jobs) == JobState::finished);
}

TEST_CASE_METHOD(JobsFixture, "A job that is being cancelled is not paused any more",
                 "[actors][jobs]") {
  auto jobs = supervisor();
  add(jobs, job("a", {end_as_asked}));
  tell(jobs, atom::cancel_v, "a");
  auto refused = ask<Done>(jobs, atom::pause_v, std::string{"a"});
  run_function();
  REQUIRE_FALSE((*refused)->has_value());
  CHECK((*refused)->error().code == Errc::conflict);
  CHECK(state(jobs) == JobState::cancelled);
}

TEST_CASE_METHOD(JobsFixture, "A job is cancelled wherever it stands", "[actors][jobs]") {
  auto jobs = supervisor(1);
  SECTION("while it runs") {
    add(jobs, job("a", {end_as_asked}));
    tell(jobs, atom::cancel_v, "a");
    run_function();
  }
  SECTION("while it waits for a restart") {
    add(jobs, job("a", {fail_for_now}));
    run_function();
    tell(jobs, atom::cancel_v, "a");
    pass(std::chrono::hours{1});
  }
  SECTION("while it is paused") {
    add(jobs, job("a", {end_as_asked}));
    tell(jobs, atom::pause_v, "a");
    run_function();
    tell(jobs, atom::cancel_v, "a");
  }
  CHECK(state(jobs) == JobState::cancelled);
  CHECK(threads->jobs.empty());
  CHECK(started.size() == 1);
  // Its name is free once it is forgotten.
  tell(jobs, atom::remove_v, "a");
  add(jobs, job("a"));
}

TEST_CASE_METHOD(JobsFixture, "So many jobs run at a time, the others in their order",
                 "[actors][jobs]") {
  auto jobs = supervisor(2);
  for (const auto* name : {"c", "a", "b", "d"})
    add(jobs, job(name));
  CHECK(threads->jobs.size() == 2);
  CHECK(statuses(jobs)[2].state == JobState::waiting);
  run_function();
  CHECK(threads->jobs.size() == 2);
  while (!threads->jobs.empty())
    run_function();
  CHECK(started == std::vector<std::string>{"c", "a", "b", "d"});
  for (const auto& status : statuses(jobs))
    CHECK(status.state == JobState::finished);
}

TEST_CASE_METHOD(JobsFixture, "A job whose actor is killed before it begins is started again",
                 "[actors][jobs]") {
  auto jobs = supervisor();
  auto spec = job("a");
  auto kinds = std::vector<std::string>{};
  spec.restarts.on_start = [&](std::string_view kind, const std::function<void()>& break_it) {
    kinds.emplace_back(kind);
    if (kinds.size() > 1)
      throw std::runtime_error{"what a sink throws is dropped"};
    break_it();
  };
  add(jobs, std::move(spec));
  CHECK(threads->jobs.empty());
  CHECK(state(jobs) == JobState::restarting);
  pass(std::chrono::milliseconds{100});
  run_function();
  CHECK(state(jobs) == JobState::finished);
  CHECK(kinds == std::vector<std::string>(2, "tinkaf.training-job"));
}

TEST_CASE_METHOD(JobsFixture,
                 "A job whose actor is killed with its function running is started again, and only "
                 "once that has returned",
                 "[actors][jobs]") {
  auto jobs = supervisor();
  bool asked_to_stop = false;
  add(jobs, job("a", {[&](const JobRun& given) -> Result<JobEnd> {
                  asked_to_stop = given.stop.stop_requested();
                  return JobEnd::stopped;
                }}));
  auto child = state_of<JobSupervisorState>(jobs).jobs.at("a").child;
  kill(caf::actor_cast<caf::actor>(child));
  child = nullptr;
  pass(std::chrono::hours{1});
  CHECK(threads->jobs.size() == 1); // the first start's, still running
  run_function();
  CHECK(asked_to_stop);
  CHECK(state(jobs) == JobState::restarting);
  pass(std::chrono::seconds{1});
  run_function();
  CHECK(state(jobs) == JobState::finished);
  CHECK(started.size() == 2);
}

TEST_CASE_METHOD(JobsFixture, "The end of a supervisor stops its jobs and answers who waits",
                 "[actors][jobs]") {
  auto jobs = supervisor();
  bool asked_to_stop = false;
  add(jobs, job("a", {[&](const JobRun& given) -> Result<JobEnd> {
                  asked_to_stop = given.stop.stop_requested();
                  return JobEnd::stopped;
                }}));
  auto end = ask<JobStatus>(jobs, atom::wait_v, std::string{"a"});
  run();
  caf::anon_send_exit(jobs, caf::exit_reason::user_shutdown);
  run();
  REQUIRE(end->has_value());
  CHECK((*end)->error().code == Errc::cancelled);
  run_function();
  CHECK(asked_to_stop);
}

TEST_CASE_METHOD(JobsFixture, "What cannot be done with a job is told with its name and state",
                 "[actors][jobs]") {
  auto jobs = supervisor();
  auto refused = [&](Answer<Done> answer, Errc code, const std::string& part) {
    run();
    REQUIRE_FALSE((*answer)->has_value());
    CHECK((*answer)->error().code == code);
    CHECK((*answer)->error().message.find(part) != std::string::npos);
  };
  refused(ask<Done>(jobs, StartJob{}), Errc::invalid_argument, "`name`");
  auto hasty = job("hasty");
  hasty.restarts.first_delay = std::chrono::milliseconds{-1};
  refused(ask<Done>(jobs, std::move(hasty)), Errc::invalid_argument,
          "restarts.first_delay is -1 ms");
  refused(ask<Done>(jobs, atom::pause_v, std::string{"x"}), Errc::not_found, "`x`");
  add(jobs, job("a"));
  refused(ask<Done>(jobs, job("a")), Errc::conflict, "`a` already, which is running");
  refused(ask<Done>(jobs, atom::resume_v, std::string{"a"}), Errc::conflict, "is running");
  refused(ask<Done>(jobs, atom::remove_v, std::string{"a"}), Errc::conflict, "cancel it first");
  run_function();
  refused(ask<Done>(jobs, atom::pause_v, std::string{"a"}), Errc::conflict, "is finished");
}
