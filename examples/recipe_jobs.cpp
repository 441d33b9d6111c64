// SPDX-License-Identifier: Apache-2.0
//
// Every recipe as a job of one supervisor, side by side. One that breaks is started again and goes
// on; killed and run again on the same folders, all of them would.

#include "actors/courier.hpp"
#include "actors/job_supervisor.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>

#include <iostream>

#include "examples/example_service.hpp"
#include "train/recipe_job.hpp"
#include "train/recipe_runs.hpp"
#include "train/start_point.hpp"

using namespace tinkaf;

namespace {

/// A supervisor of jobs, and the service that they train on.
struct Jobs {
  const examples::ExampleService& service;
  caf::scoped_actor& self;
  JobSupervisorActor supervisor;

  void start(const std::string& name, train::DurableRun run) const {
    auto job = train::recipe_job({.options = service.options,
                                  .folder = service.folder() / name,
                                  .identity = {{"name", name}},
                                  .job = std::move(run)});
    self->send(supervisor, StartJob{.name = name, .run = std::move(job)});
  }

  Result<void> wait_for(const std::string& name) const {
    Result<JobStatus> ended;
    self->request(supervisor, caf::infinite, atom::wait_v, name)
        .receive([&](const JobStatus& status) { ended = status; },
                 [&](const caf::error& error) { ended = fail(from_caf(error)); });
    if (!ended || ended->state == JobState::failed)
      return fail(ended ? *ended->last_error : ended.error());
    std::cout << name << ": " << to_string(ended->state) << " after " << ended->progress.steps_done
              << " steps with " << ended->progress.loss.value_or(0.0) << '\n';
    return {};
  }
};

Result<void> run(const Jobs& jobs, const std::string& base_model) {
  const auto tokenizer = jobs.service.tokenizer();
  const auto rows = train::parse_rows(R"({"prompt": "a", "completion": "b"})", "rows");
  const auto pairs
      = train::parse_preferences(R"({"prompt": "a", "chosen": "b", "rejected": "c"})", "pairs");
  if (!tokenizer || !rows || !pairs)
    return fail(Errc::invalid_argument, "no tokenizer, or no rows");
  const train::Renderer renderer{*tokenizer};
  const auto examples = train::share(train::render_all(renderer, *rows, "rows").value());
  const auto preferences
      = train::share(train::render_preferences(renderer, *pairs, "pairs").value());
  const auto prompts = train::share(train::render_prompts(renderer, *rows, "rows").value());
  const train::JobModelSettings model{.base_model = base_model,
                                      .lora_config = {.rank = 4, .seed = 1}};
  train::RunSettings settings{.steps = 10, .batch_size = 1, .save_every = 5};
  settings.adam.learning_rate = 0.01;
  const train::PolicySettings policy{
      .draw = {.group = 4, .max_tokens = 4, .stop = renderer.stop_tokens()}};
  const auto length = [](const auto& /*row*/, std::string_view x) { return 1.0 * x.size(); };
  jobs.start("sft", train::sft_run(model, settings, examples));
  jobs.start("dpo", train::dpo_run(model, settings, preferences, {.reference = base_model}));
  jobs.start("rl", train::rl_run(model, settings, prompts, *tokenizer, {policy, length}));
  if (auto done = jobs.wait_for("sft"); !done)
    return done;
  const auto teacher = train::find_start((jobs.service.folder() / "sft").string());
  if (!teacher)
    return fail(teacher.error());
  jobs.start("distill",
             train::distill_run(model, settings, prompts, {policy, teacher->sampler_path}));
  for (const auto* name : {"dpo", "rl", "distill"})
    if (auto done = jobs.wait_for(name); !done)
      return done;
  return {};
}

} // namespace

int main() {
  return examples::run_example([](const examples::ExampleService& service) {
    caf::actor_system_config config;
    caf::actor_system system{configure_for_clients(config)};
    auto jobs = spawn_job_supervisor(system);
    caf::scoped_actor self{system};
    auto done = run({service, self, jobs}, service.model);
    self->send_exit(jobs, caf::exit_reason::user_shutdown); // stops all jobs
    return done;
  });
}
