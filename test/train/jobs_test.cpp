// SPDX-License-Identifier: Apache-2.0
//
// Jobs under a supervisor, each with a session of its own at a server that really trains.
#include "actors/courier.hpp"
#include "actors/job_supervisor.hpp"
#include "test/catch.hpp"
#include "test/chaos/fault_proxy.hpp"
#include "test/client/local_service.hpp"
#include "test/train/job_examples.hpp"
#include "test/train/temp_folder.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>

#include <algorithm>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "train/recipe_job.hpp"
#include "train/recipe_runs.hpp"

using namespace tinkaf;
using namespace tinkaf::train;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t steps = 8;

/// Where the troubles begin.
constexpr std::size_t middle = 4;

/// Called on the job's thread when it begins, and behind each step.
using OnProgress = std::function<void(int start, const JobRun& run, const JobProgress& progress)>;

/// Waits until a job is asked to stop.
void wait_for_stop(const JobRun& run) {
  auto asked = std::promise<void>{};
  const auto callback = std::stop_callback{run.stop, [&] { asked.set_value(); }};
  asked.get_future().wait();
}

/// The job with something done at its progress.
StartJob with(StartJob spec, OnProgress on_progress) {
  spec.run = [inner = std::move(spec.run), hook = std::move(on_progress),
              starts = std::make_shared<int>(0)](const JobRun& given) {
    const auto start = ++*starts;
    auto run = given;
    run.report = [&](const JobProgress& progress) {
      given.report(progress);
      hook(start, given, progress);
    };
    return inner(run);
  };
  return spec;
}

/// Gives a server up soon which is not there.
ClientOptions impatient(ClientOptions options) {
  options.retry.first_delay = options.polling.first_delay = 10ms;
  options.retry.max_delay = options.polling.max_delay = 50ms;
  options.retry.budget = 500ms;
  options.polling.deadline = 2s;
  return options;
}

struct JobsFixture {
  ~JobsFixture() {
    self->send_exit(jobs, caf::exit_reason::user_shutdown);
  }

  [[nodiscard]] StartJob job(const std::string& name, ClientOptions options) const {
    auto settings = RunSettings{.steps = steps, .batch_size = 2, .save_every = 3};
    settings.adam.learning_rate = 0.01;
    auto run = sft_run({.base_model = "tiny", .lora_config = {.rank = 4, .seed = 1}}, settings,
                       examples);
    return {.name = name,
            .run = recipe_job({.options = std::move(options),
                               .folder = temp.path() / name,
                               .identity = {{"--name", name}},
                               .job = std::move(run)}),
            .restarts = {.max_restarts = 100, .first_delay = 1ms, .max_delay = 10ms}};
  }

  template <class Answer, class... Args>
  Answer ask(Args... args) {
    auto result = Result<Answer>{};
    self->request(jobs, caf::infinite, std::move(args)...)
        .receive([&](Answer& answer) { result = std::move(answer); },
                 [&](const caf::error& error) { result = fail(from_caf(error)); });
    INFO((result ? "" : result.error().message));
    REQUIRE(result);
    return *result;
  }

  JobStatus end_of(const std::string& name) {
    auto status = ask<JobStatus>(atom::wait_v, name);
    INFO(name << ": " << (status.last_error ? status.last_error->message : ""));
    CHECK(status.state == JobState::finished);
    CHECK(status.progress.steps_done == steps);
    return status;
  }

  [[nodiscard]] std::string metrics(const char* name) const {
    return test::read_text(temp.path() / name / "metrics.jsonl");
  }

  test::LocalService local;
  test::TempFolder temp;
  std::shared_ptr<const std::vector<Example>> examples
      = std::make_shared<const std::vector<Example>>(test::make_examples());
  caf::actor_system_config config;
  caf::actor_system system{configure_for_clients(config)};
  JobSupervisorActor jobs = spawn_job_supervisor(system);
  caf::scoped_actor self{system};
};

} // namespace

TEST_CASE_METHOD(JobsFixture,
                 "Jobs side by side end bit-equal to one that nothing happens to: one whose actor "
                 "is killed, one that loses its server, one that is paused",
                 "[train][jobs]") {
  // The actor of the last start; set by the supervisor before the function is called.
  auto mutex = std::mutex{};
  auto kill = std::function<void()>{};
  auto killed = with(job("killed", local.options()),
                     [&](int start, const JobRun& run, const JobProgress& progress) {
                       if (start != 1 || progress.steps_done != middle)
                         return;
                       {
                         const auto lock = std::lock_guard{mutex};
                         kill();
                       }
                       wait_for_stop(run);
                     });
  killed.restarts.on_start = [&](std::string_view, std::function<void()> break_it) {
    const auto lock = std::lock_guard{mutex};
    kill = std::move(break_it);
  };

  const auto address = local.server->address();
  const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  auto proxy = test::FaultProxy{{}};
  proxy.set_server(port);
  auto through_proxy = impatient(local.options());
  through_proxy.base_url = proxy.url();
  auto cut_off = with(job("cut off", through_proxy),
                      [&](int start, const JobRun&, const JobProgress& progress) {
                        if (start > 1)
                          proxy.set_server(port);
                        else if (progress.steps_done == middle)
                          proxy.set_server(0);
                      });

  auto is_middle = std::promise<void>{};
  auto paused = with(job("paused", local.options()),
                     [&](int start, const JobRun& run, const JobProgress& progress) {
                       if (start != 1 || progress.steps_done != middle)
                         return;
                       is_middle.set_value();
                       wait_for_stop(run);
                     });

  ask<Done>(job("untroubled", local.options()));
  ask<Done>(std::move(killed));
  ask<Done>(std::move(cut_off));
  ask<Done>(std::move(paused));
  is_middle.get_future().wait();
  ask<Done>(atom::pause_v, std::string{"paused"});
  ask<Done>(atom::resume_v, std::string{"paused"});

  CHECK(end_of("untroubled").restarts == 0);
  CHECK(end_of("killed").restarts == 1);
  CHECK(end_of("cut off").restarts >= 1);
  CHECK(end_of("paused").restarts == 0);
  const auto wanted = metrics("untroubled");
  CHECK(std::count(wanted.begin(), wanted.end(), '\n') == steps);
  CHECK(metrics("killed") == wanted);
  CHECK(metrics("cut off") == wanted);
  CHECK(metrics("paused") == wanted);
}
