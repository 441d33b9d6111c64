// SPDX-License-Identifier: Apache-2.0
#include "actors/courier.hpp"
#include "actors/job_supervisor.hpp"
#include "client/service.hpp"
#include "server/model/random_model.hpp"
#include "server/server.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/benchmarks.hpp"
#include "bench/folder.hpp"
#include "bench/peer_process.hpp"
#include "train/recipe_runs.hpp"
#include <malloc.h>
#include <sys/types.h>

namespace tinkaf::bench {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::size_t job_count = 200;
constexpr std::chrono::minutes warm_up_limit{10};

/// Steps of each job before its memory counts as steady.
constexpr std::size_t warm_up_steps = 5;

/// Of a step: forward_backward and optim_step.
constexpr std::uint64_t step_operations = 2;

/// How long the server remembers results, so that its memory, too, has come to rest before the end.
constexpr std::chrono::seconds server_memory{30};

/// The value of a line of /proc/<process>/status, in its unit.
double process_status(const std::string& process, const std::string& name) {
  std::ifstream status{"/proc/" + process + "/status"};
  std::string word;
  while (status >> word)
    if (word == name + ":") {
      double value = 0;
      status >> value;
      return value;
    }
  return 0;
}

/// What is allocated, without what the allocator keeps for later; in MiB.
double allocated() {
  const auto info = ::mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd) / (1 << 20);
}

std::size_t open_descriptors() {
  auto ignored = std::error_code{};
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator{"/proc/self/fd", ignored}, fs::directory_iterator{}));
}

std::size_t parts_in(const SupervisedPart& part) {
  auto count = std::size_t{1};
  for (const auto& below : part.parts)
    count += parts_in(below);
  return count;
}

/// What the jobs have in common.
struct Shared {
  ClientOptions options;
  fs::path folder;
  std::shared_ptr<const std::vector<train::Example>> examples;

  std::atomic<std::uint64_t> steps{0};
  std::atomic<std::size_t> warm{0};

  std::mutex mutex; // of what follows
  std::vector<Service> services;
};

std::vector<train::Example> make_examples() {
  auto result = std::vector<train::Example>{};
  for (Token first = 1; first <= 16; ++first) {
    auto tokens = std::vector<Token>(32, first);
    auto& example = result.emplace_back();
    example.datum.model_input = ModelInput::from_ints(tokens);
    example.datum.loss_fn_inputs
        = {{"target_tokens", TensorData::of(std::vector<std::int64_t>(32, first))},
           {"weights", TensorData::of(std::vector<float>(32, 1.0F))}};
    example.target_bytes = std::vector<std::int32_t>(32, 1);
  }
  return result;
}

/// A job that goes on until it is stopped, with a session of its own.
JobFn endless_job(const std::shared_ptr<Shared>& shared, std::size_t number) {
  return [shared, number](const JobRun& given) -> Result<JobEnd> {
    const auto name = fmt::format("job-{}", number);
    auto folder = train::RunFolder::open(shared->folder / name, {{"--name", name}});
    if (!folder)
      return fail(std::move(folder.error()));
    const auto open = [&](const std::optional<SessionRecord>& record) {
      auto service
          = record ? Service::resume(*record, shared->options) : Service::connect(shared->options);
      if (service) {
        const auto lock = std::lock_guard{shared->mutex};
        shared->services.push_back(*service);
      }
      return service;
    };
    const auto job = train::sft_run(
        {.base_model = "tiny", .lora_config = {.rank = 4, .seed = 1}},
        {.steps = std::numeric_limits<std::int32_t>::max(), .batch_size = 4}, shared->examples);
    const auto on_step = [&](const train::StepRow& row) {
      ++shared->steps;
      if (row.step + 1 == warm_up_steps)
        ++shared->warm;
      given.report({row.step + 1, job.settings.steps, row.value("train_mean_nll")});
    };
    auto outcome = train::run_durable(open, job, *folder, on_step, notices_to_stderr(), given.stop);
    return outcome ? Result<JobEnd>{JobEnd::stopped} : fail(std::move(outcome.error()));
  };
}

/// A line of the table.
void print_now(Shared& shared, pid_t server, Clock::time_point begin, std::uint64_t steps_before) {
  auto services = std::vector<Service>{};
  {
    const auto lock = std::lock_guard{shared.mutex};
    services = shared.services;
  }
  auto trees = std::vector<Future<SupervisionTree>>{};
  for (const auto& service : services)
    trees.push_back(service.supervision_tree());
  auto actors = std::size_t{0};
  for (auto& tree : trees)
    if (auto told = tree.get())
      actors += parts_in(told->session);
  const auto seconds = std::chrono::duration<double>{Clock::now() - begin}.count();
  const auto memory
      = [](const std::string& process) { return process_status(process, "VmRSS") / 1024; };
  fmt::print("  {:>6.0f}   {:>10}   {:>10.1f}   {:>9.1f}   {:>10.1f}   {:>11}   {:>7.0f}   {:>6}\n",
             seconds, (shared.steps - steps_before) * step_operations, memory("self"), allocated(),
             memory(std::to_string(server)), open_descriptors(), process_status("self", "Threads"),
             actors);
  std::fflush(stdout);
}

/// Jobs that are not at work: waiting, failed, started again.
std::size_t troubled(caf::scoped_actor& self, const JobSupervisorActor& jobs) {
  auto count = std::size_t{0};
  self->request(jobs, caf::infinite, atom::status_v)
      .receive(
          [&](const JobStatuses& statuses) {
            for (const auto& status : statuses) {
              if (status.state == JobState::running && status.restarts == 0)
                continue;
              ++count;
              fmt::print("  {} is {} after {} restarts: {}\n", status.name, to_string(status.state),
                         status.restarts, status.last_error ? status.last_error->message : "");
            }
          },
          [](const caf::error&) {});
  return count;
}

Result<void> run_jobs(std::chrono::seconds time, const fs::path& folder) {
  auto peer = PeerProcess::start({"server", (folder / "server").string()});
  if (!peer)
    return fail(std::move(peer.error()));
  auto shared = std::make_shared<Shared>();
  shared->options.base_url = peer->url();
  shared->options.api_key = Secret{"tml-bench"};
  shared->folder = folder / "runs";
  shared->examples = train::share(make_examples());

  caf::actor_system_config config;
  caf::actor_system system{configure_for_clients(config)};
  auto jobs = spawn_job_supervisor(system);
  caf::scoped_actor self{system};
  for (std::size_t number = 0; number < job_count; ++number)
    self->send(jobs,
               StartJob{.name = fmt::format("job-{}", number), .run = endless_job(shared, number)});
  const auto limit = Clock::now() + warm_up_limit;
  while (shared->warm < job_count && Clock::now() < limit)
    std::this_thread::sleep_for(std::chrono::milliseconds{100});

  fmt::print("  {} of {} jobs have done {} steps\n"
             "  second   operations   memory/MiB   allocated   server/MiB   descriptors   threads  "
             " actors\n",
             shared->warm.load(), job_count, warm_up_steps);
  const auto begin = Clock::now();
  const auto steps = shared->steps.load();
  constexpr auto interval = std::chrono::seconds{30};
  print_now(*shared, peer->process(), begin, steps);
  for (auto next = begin + interval; next < begin + time; next += interval) {
    std::this_thread::sleep_until(next);
    print_now(*shared, peer->process(), begin, steps);
  }
  std::this_thread::sleep_until(begin + time);
  print_now(*shared, peer->process(), begin, steps);
  const auto bad = troubled(self, jobs);
  fmt::print("  {} jobs were disturbed\n", bad);
  {
    const auto lock = std::lock_guard{shared->mutex};
    shared->services.clear();
  }
  self->send_exit(jobs, caf::exit_reason::user_shutdown);
  return {};
}

} // namespace

int be_small_server(const std::string& folder) {
  const auto model = fs::path{folder} / "model";
  if (!model::write_random_model(model))
    return 1;
  auto server = Server::start(
      {.state_dir = fs::path{folder} / "state",
       .models = {{.name = "tiny", .dir = model}},
       .threads = 1,
       .limits = {.delivered_retention = server_memory, .expired_memory = server_memory}});
  if (!server)
    return 1;
  serve_until_parent_ends((*server)->port());
  return 0;
}

void jobs(std::chrono::seconds time) {
  fmt::print("{} training jobs at once in one process, each with a session of its own\n",
             job_count);
  const auto folder = Folder{};
  if (auto done = run_jobs(time, folder.path()); !done)
    fmt::print("  failed: {}\n", to_string(done.error()));
}

} // namespace tinkaf::bench
