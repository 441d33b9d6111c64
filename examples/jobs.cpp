// SPDX-License-Identifier: Apache-2.0
//
// Many jobs in one process: two at a time, one paused and resumed, one cancelled. Killed and run
// again on the same folder, each would go on where it was.

#include "actors/courier.hpp"
#include "actors/job_supervisor.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>

#include <iostream>

#include "examples/example_service.hpp"
#include "train/recipe_job.hpp"
#include "train/recipe_runs.hpp"

using namespace tinkaf;

namespace {

/// Three words to be learned by heart.
std::shared_ptr<const std::vector<train::Example>> make_examples() {
  train::Example example;
  example.datum.model_input = ModelInput::from_ints({1, 40, 41});
  example.datum.loss_fn_inputs
      = {{"target_tokens", TensorData::of(std::vector<std::int64_t>{40, 41, 42})},
         {"weights", TensorData::of(std::vector<float>{1, 1, 1})}};
  example.target_bytes = {1, 1, 1};
  return std::make_shared<const std::vector<train::Example>>(1, example);
}

/// A job that fine-tunes in a folder of its own, and is started again when it breaks.
StartJob make_job(const std::string& name, const examples::ExampleService& service,
                  std::size_t steps) {
  train::RunSettings settings{.steps = steps, .batch_size = 1, .save_every = 5};
  settings.adam.learning_rate = 1e-2;
  return {.name = name,
          .run
          = train::recipe_job({.options = service.options,
                               .folder = service.folder() / name,
                               .identity = {{"--name", name}, {"--steps", std::to_string(steps)}},
                               .job = train::sft_run({.base_model = service.model,
                                                      .lora_config = {.rank = 4, .seed = 1}},
                                                     settings, make_examples())})};
}

/// Asks an actor and waits for its answer.
template <class Answer, class Handle, class... Args>
Result<Answer> ask(caf::scoped_actor& self, const Handle& whom, Args... args) {
  Result<Answer> result;
  self->request(whom, caf::infinite, std::move(args)...)
      .receive([&](const Answer& answer) { result = answer; },
               [&](const caf::error& error) { result = fail(from_caf(error)); });
  return result;
}

Result<void> run(caf::scoped_actor& self, const JobSupervisorActor& jobs,
                 const examples::ExampleService& service) {
  for (const auto& [name, steps] :
       {std::pair{"first", 10}, {"second", 10}, {"third", 10}, {"endless", 1'000'000}})
    if (auto taken = ask<Done>(self, jobs, make_job(name, service, steps)); !taken)
      return fail(taken.error());

  // What a paused job has submitted is finished and saved; the third takes its place.
  if (auto paused = ask<Done>(self, jobs, atom::pause_v, std::string{"first"}); !paused)
    return fail(paused.error());
  if (auto second = ask<JobStatus>(self, jobs, atom::wait_v, std::string{"second"}); !second)
    return fail(second.error());
  if (auto resumed = ask<Done>(self, jobs, atom::resume_v, std::string{"first"}); !resumed)
    return fail(resumed.error());
  if (auto cancelled = ask<Done>(self, jobs, atom::cancel_v, std::string{"endless"}); !cancelled)
    return fail(cancelled.error());

  for (const auto* name : {"first", "second", "third", "endless"}) {
    auto job = ask<JobStatus>(self, jobs, atom::wait_v, std::string{name});
    if (!job)
      return fail(job.error());
    std::cout << name << ": " << to_string(job->state) << ", " << job->progress.steps_done
              << " steps, loss " << job->progress.loss.value_or(0.0) << '\n';
    if (job->state == JobState::failed)
      return fail(*job->last_error);
  }
  return {};
}

} // namespace

int main() {
  return examples::run_example([](const examples::ExampleService& service) {
    caf::actor_system_config config;
    caf::actor_system system{configure_for_clients(config)};
    auto jobs = spawn_job_supervisor(system, {.max_running = 2});
    caf::scoped_actor self{system};
    auto done = run(self, jobs, service);
    self->send_exit(jobs, caf::exit_reason::user_shutdown); // stops all jobs
    return done;
  });
}
