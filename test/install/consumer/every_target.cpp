// SPDX-License-Identifier: Apache-2.0
#include "every_target.hpp"

#include "actors/job_supervisor.hpp"
#include "api/version.hpp"
#include "losses/dpo.hpp"
#include "text/tokenizer.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>

#include <iostream>

#include "backend/memory_backend.hpp"
#include "engine/client_execute.hpp"
#include "engine/execution_actor.hpp"
#include "train/lr_plan.hpp"
#include "train/recipe_job.hpp"
#include "train/recipe_runs.hpp"

using namespace tinkaf;

namespace {

/// A step of supervised fine-tuning, as a job of a supervisor.
JobStatus fine_tune(caf::scoped_actor& self, const ClientOptions& options,
                    const train::Renderer& renderer, const std::filesystem::path& folder) {
  const auto rows = train::parse_rows(R"({"prompt": "a", "completion": "b"})", "rows").value();
  auto job = train::recipe_job(
      {.options = options,
       .folder = folder,
       .identity = {{"made by", "consumer"}},
       .job = train::sft_run({.base_model = "tiny"}, {.steps = 1, .batch_size = 1},
                             train::share(train::render_all(renderer, rows, "rows").value()))});
  auto jobs = spawn_job_supervisor(self->system());
  self->send(jobs, StartJob{.name = "job", .run = std::move(job)});
  JobStatus result;
  self->request(jobs, caf::infinite, atom::wait_v, std::string{"job"})
      .receive([&](const JobStatus& status) { result = status; }, [](const caf::error&) {});
  self->send_exit(jobs, caf::exit_reason::user_shutdown);
  return result;
}

} // namespace

Result<void> use_every_target(const ClientOptions& options, const std::filesystem::path& model,
                              const std::filesystem::path& folder) {
  std::cout << "tinkaf::api: version " << version() << '\n'
            << "tinkaf::losses: " << losses::dpo({.beta = 0}).error().message << '\n'
            << "tinkaf::train: half way at "
            << train::rate_at({train::LrKind::linear_decay, 1.0, 3}, 1).value() << '\n'
            << "tinkaf::backend: " << MemoryBackend{}.save_full_state("a").value() << '\n';
  const auto tokenizer = text::Tokenizer::load(model / "tokenizer.json");
  const auto prices = read_prices(model / "../../data/prices.json");
  if (!tokenizer || !prices)
    return fail(tokenizer ? prices.error() : tokenizer.error());
  std::cout << "tinkaf::text: " << tokenizer->decode(tokenizer->encode("a text")) << '\n'
            << "tinkaf::engine: prices of " << prices->date << '\n';

  auto service = Service::connect(options);
  auto client = service ? service->create_lora_training_client("tiny", {.rank = 8})
                        : Result<TrainingClient>{fail(service.error())};
  if (!client)
    return fail(client.error());
  for (const auto& step : execute(*client, {SnapshotOp{.name = "start"}}))
    std::cout << "tinkaf::engine_client: " << (step ? "a snapshot" : step.error().error.message)
              << '\n';

  caf::actor_system_config config;
  caf::actor_system system{configure_for_clients(config)};
  caf::scoped_actor self{system};
  auto run = spawn_execution(system, {}, Schedule{});
  self->request(run, caf::infinite, atom::next_v)
      .receive(
          [](const ExecutionNext& next) {
            std::cout << "tinkaf::engine_actor: " << (next.step ? "a step" : "no step") << '\n';
          },
          [](const caf::error&) {});
  self->send_exit(run, caf::exit_reason::user_shutdown);
  const auto status = fine_tune(self, options, train::Renderer{*tokenizer}, folder);
  if (status.last_error)
    return fail(*status.last_error);
  std::cout << "tinkaf::train_client, tinkaf::actors: " << to_string(status.state) << '\n';
  return {};
}
