// SPDX-License-Identifier: Apache-2.0
//
// A job of one's own under a supervisor of jobs, as a program: what the chaos trials let things go
// wrong for besides `tinkaf train sft`. The same command goes on.
#include "actors/job_supervisor.hpp"
#include "cli/report.hpp"
#include "cli/signals.hpp"
#include "cli/test_breaks.hpp"
#include "cli/test_pace.hpp"
#include "test/chaos/loop_job.hpp"

#include <CLI/CLI.hpp>
#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <exception>
#include <stop_token>
#include <string>

namespace {

using namespace tinkaf;

constexpr auto job_name = "loop";

/// Each start goes on from a checkpoint at worst, so many of them do no harm.
const auto restarts
    = RestartPolicy{.max_restarts = 20, .first_delay = std::chrono::milliseconds{10}};

Result<test::LoopSettings> read(test::LoopSettings settings) {
  settings.options = with_environment(std::move(settings.options));
  if (auto paced = cli::apply_test_pace(settings.options); !paced)
    return fail(std::move(paced.error()));
  if (auto broken = cli::apply_test_breaks(settings.options); !broken)
    return fail(std::move(broken.error()));
  settings.notices = notices_to_stderr();
  settings.on_error = [](const Error& error) { cli::complain(cli::error_line(error)); };
  return settings;
}

Result<JobState> run(test::LoopSettings given, const cli::StopSignals& signals) {
  auto settings = read(std::move(given));
  if (!settings)
    return fail(std::move(settings.error()));
  auto config = caf::actor_system_config{};
  auto system = caf::actor_system{config};
  const auto jobs = spawn_job_supervisor(system);
  auto job = StartJob{.name = job_name, .run = {}, .restarts = restarts};
  job.restarts.on_start = settings->options.restarts.clients.on_start;
  job.run = test::loop_job(std::move(*settings));
  auto self = caf::scoped_actor{system};
  auto result = Result<JobState>{JobState::failed};
  const auto failed = [&](const caf::error& error) { result = fail(from_caf(error)); };
  self->request(jobs, caf::infinite, std::move(job)).receive([](Done) {}, failed);
  {
    const auto stop = std::stop_callback{
        signals.token(), [&] { caf::anon_send(jobs, atom::cancel_v, std::string{job_name}); }};
    self->request(jobs, caf::infinite, atom::wait_v, std::string{job_name})
        .receive([&](const JobStatus& status) { result = status.state; }, failed);
  }
  self->send_exit(jobs, caf::exit_reason::user_shutdown);
  return result;
}

int main_of(int argc, char** argv) {
  auto app = CLI::App{"A durable training loop over the library", "tinkaf_chaos_loop"};
  auto settings = test::LoopSettings{};
  app.add_option("--base-url", settings.options.base_url)->required();
  app.add_option("--out", settings.folder)->required();
  app.add_option("--steps", settings.steps);
  app.add_option("--save-every", settings.save_every);
  app.add_flag("--custom-loss", settings.custom_loss);
  app.add_flag("--samples", settings.samples);
  CLI11_PARSE(app, argc, argv);
  const auto signals = cli::StopSignals{};
  const auto state = run(std::move(settings), signals);
  if (!state)
    return cli::report(state.error(), signals);
  if (*state == JobState::finished)
    return cli::exit_success;
  return signals.received() != 0 ? signals.exit_code() : cli::exit_failure;
}

} // namespace

int main(int argc, char** argv) {
  try {
    return main_of(argc, argv);
  } catch (const std::exception& fault) {
    cli::complain(std::string{"internal fault: "} + fault.what());
    return cli::exit_failure;
  }
}
