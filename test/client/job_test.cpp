// SPDX-License-Identifier: Apache-2.0
#include "actors/job_supervisor.hpp"
#include "test/client/local_service.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>

#include <memory>
#include <string>

using namespace tinkaf;

namespace {

struct NoLog : OperationLog {
  Result<void> note(const NumberedTurn&) override {
    return {};
  }

  Result<void> accepted(std::int64_t, const FutureRef&) override {
    return {};
  }
};

} // namespace

TEST_CASE("A job that is started again finds nothing of the service that it has let go",
          "[client][jobs]") {
  const auto local = test::LocalService{};
  auto left = std::weak_ptr<NoLog>{}; // held by the service's actors, as a run's journal is
  auto starts = 0;
  auto found = 0;
  auto job = StartJob{.name = "job",
                      .run = [&](const JobRun&) -> Result<JobEnd> {
                        found += left.expired() ? 0 : 1;
                        if (++starts == 5)
                          return JobEnd::finished;
                        auto log = std::make_shared<NoLog>();
                        left = log;
                        auto service = Service::connect(local.options(), {});
                        if (!service)
                          return fail(service.error());
                        auto client = service->create_lora_training_client("tiny", {.rank = 4}, {},
                                                                           std::move(log));
                        return client ? fail(Errc::connection, "again") : fail(client.error());
                      },
                      .restarts = {.first_delay = std::chrono::milliseconds{1}}};
  auto config = caf::actor_system_config{};
  auto system = caf::actor_system{config};
  auto self = caf::scoped_actor{system};
  const auto jobs = spawn_job_supervisor(system);
  auto state = JobState::waiting;
  const auto failed = [](const caf::error& error) { FAIL(from_caf(error).message); };
  self->request(jobs, caf::infinite, job).receive([](Done) {}, failed);
  self->request(jobs, caf::infinite, atom::wait_v, std::string{"job"})
      .receive([&](const JobStatus& status) { state = status.state; }, failed);
  self->send_exit(jobs, caf::exit_reason::user_shutdown);
  CHECK(state == JobState::finished);
  CHECK(starts == 5);
  CHECK(found == 0);
}
