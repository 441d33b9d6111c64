// SPDX-License-Identifier: Apache-2.0
#include "train/durable_run.hpp"

#include "test/catch.hpp"
#include "test/client/local_service.hpp"
#include "test/server/http_client.hpp"
#include "test/train/job_examples.hpp"
#include "test/train/temp_folder.hpp"

#include <algorithm>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "train/recipe_runs.hpp"

using namespace tinkaf;
using namespace tinkaf::train;

namespace {

/// Ends a run as a crash does: nothing is said, nothing is saved.
struct Crash {};

struct DurableFixture {
  explicit DurableFixture(ServerLimits limits = {}) : local(std::move(limits)) {
    job.model.base_model = "tiny";
    job.model.lora_config = {.rank = 4, .seed = 1};
    job.settings = {.steps = 8, .batch_size = 2, .save_every = 2};
    job.settings.adam.learning_rate = 0.01;
  }

  /// Runs the job as a new process would.
  /// @param crash_at ends it when this step is settled; never if it is above the last
  Result<RunOutcome> run(const char* name, std::size_t crash_at = 1'000,
                         const std::function<void(const StepRow&)>& also = {}) {
    auto folder = RunFolder::open(temp.path() / name, {{"--job", "one"}});
    REQUIRE(folder);
    journal = folder->journal().get();
    seen.clear();
    return run_durable(
        [this](const std::optional<SessionRecord>& record) -> Result<Service> {
          if (!record) {
            ++new_sessions;
            return Service::connect(local.options(), {});
          }
          ++resumed_sessions;
          if (session_gone)
            return fail(
                Error{.code = Errc::not_found, .message = "no such session", .http_status = 404});
          return Service::resume(*record, local.options(), {});
        },
        sft_run(job.model, job.settings, examples), *folder,
        [&](const StepRow& row) {
          seen.push_back(row.step);
          if (also)
            also(row);
          if (row.step == crash_at)
            throw Crash{};
        },
        [this](const Notice& notice) {
          const auto lock = std::lock_guard{mutex};
          notices += notice.text + '\n';
        },
        stop.get_token());
  }

  void crash(const char* name, std::size_t at) {
    CHECK_THROWS_AS(run(name, at), Crash);
  }

  [[nodiscard]] std::string metrics(const char* name) const {
    return test::read_text(temp.path() / name / "metrics.jsonl");
  }

  /// What a run gives that nothing happens to.
  [[nodiscard]] std::string untroubled() {
    REQUIRE(run("untroubled"));
    new_sessions = resumed_sessions = 0;
    return metrics("untroubled");
  }

  /// Deletes a run's checkpoints beyond a step, as their expiry does.
  void delete_checkpoints(const char* name, std::size_t beyond) {
    auto rest = RestClient::connect(local.options());
    REQUIRE(rest);
    auto folder = RunFolder::open(temp.path() / name, {{"--job", "one"}});
    REQUIRE(folder);
    for (const auto& row : folder->checkpoints())
      if (row.batch > beyond)
        REQUIRE(rest->delete_checkpoint_from_tinker_path(row.state_path).get());
  }

  /// Waits until the service no longer keeps the results that a run has not settled.
  void wait_until_forgotten(const char* name) {
    auto folder = RunFolder::open(temp.path() / name, {{"--job", "one"}});
    REQUIRE(folder);
    const auto attach = folder->journal()->attach();
    REQUIRE(attach);
    REQUIRE_FALSE(attach->open.empty());
    const auto& request = attach->open.front().front();
    REQUIRE(request.accepted);
    auto client = test::HttpClient{local.server->port()};
    auto status = 200;
    while (status == 200)
      status = client
                   .call("POST", "/api/v1/retrieve_future",
                         R"({"request_id":")" + request.accepted->request_id + R"("})",
                         {{"X-API-Key", "tml-good"}, {"Content-Type", "application/json"}})
                   .status;
    REQUIRE(status == 410);
  }

  /// Waits until the present run has an operation of that type under way.
  void wait_for_note(RequestType type) const {
    while (true) {
      const auto attach = journal->attach();
      REQUIRE(attach);
      for (const auto& turn : attach->open)
        if (turn.front().type == type)
          return;
      std::this_thread::yield();
    }
  }

  /// Waits until the service has accepted the oldest operation that is not settled.
  void wait_for_acceptance() const {
    while (true) {
      const auto attach = journal->attach();
      REQUIRE(attach);
      if (!attach->open.empty() && attach->open.front().front().accepted)
        return;
      std::this_thread::yield();
    }
  }

  [[nodiscard]] bool told(const std::string& text) {
    const auto lock = std::lock_guard{mutex};
    return notices.find(text) != std::string::npos;
  }

  test::LocalService local;
  test::TempFolder temp;
  std::shared_ptr<const std::vector<Example>> examples = share(test::make_examples());
  DurableRun job;
  std::stop_source stop;
  JobJournal* journal = nullptr; // of the present run
  bool session_gone = false;
  int new_sessions = 0;
  int resumed_sessions = 0;
  std::vector<std::size_t> seen;
  std::mutex mutex;
  std::string notices;
};

/// With a service that keeps results for a second.
struct ForgetfulFixture : DurableFixture {
  ForgetfulFixture()
      : DurableFixture({.delivered_retention = std::chrono::seconds{1},
                        .undelivered_retention = std::chrono::seconds{1}}) {}
};

} // namespace

TEST_CASE_METHOD(DurableFixture,
                 "A job that breaks off with a step under way goes on in its session, without the "
                 "steps that are settled",
                 "[train][durable]") {
  const auto wanted = untroubled();
  crash("run", 4);
  const auto outcome = run("run");
  REQUIRE(outcome);
  CHECK(seen == std::vector<std::size_t>{5, 6, 7});
  CHECK(new_sessions == 1);
  CHECK(resumed_sessions == 1);
  CHECK(metrics("run") == wanted);
  CHECK(outcome->steps_done == 8);
  CHECK(notices.empty());
}

TEST_CASE_METHOD(DurableFixture,
                 "A model that the service refuses leaves the folder to the next job",
                 "[train][durable][errors]") {
  job.model.lora_config.rank = 1024; // the service takes 256
  const auto refused = run("run");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("lora_config.rank must be a power of 2 up to 256, but is 1024")
        != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(temp.path() / "run"));
  // One that was begun stays.
  job.model.lora_config.rank = 4;
  crash("run", 0);
  CHECK(std::filesystem::exists(temp.path() / "run" / "journal.sqlite"));
}

TEST_CASE_METHOD(
    DurableFixture,
    "A job whose session is gone goes back to its newest checkpoint, optimizer included",
    "[train][durable]") {
  const auto wanted = untroubled();
  crash("run", 4);
  session_gone = true;
  REQUIRE(run("run"));
  CHECK(seen == std::vector<std::size_t>{4, 5, 6, 7});
  CHECK(told("goes back 1 steps"));
  CHECK(metrics("run") == wanted);
}

TEST_CASE_METHOD(ForgetfulFixture,
                 "A job whose results are no longer kept goes back to its newest checkpoint",
                 "[train][durable]") {
  const auto wanted = untroubled();
  CHECK_THROWS_AS(run("run", 4,
                      [&](const StepRow& row) {
                        if (row.step == 4)
                          wait_for_acceptance();
                      }),
                  Crash);
  wait_until_forgotten("run");
  REQUIRE(run("run"));
  INFO(notices);
  CHECK(seen == std::vector<std::size_t>{4, 5, 6, 7});
  CHECK(told("no longer kept"));
  CHECK(told("goes back 1 steps"));
  CHECK(metrics("run") == wanted);
}

TEST_CASE_METHOD(DurableFixture, "A job passes over checkpoints that the service no longer has",
                 "[train][durable]") {
  const auto wanted = untroubled();
  crash("run", 4);
  delete_checkpoints("run", 2);
  session_gone = true;
  REQUIRE(run("run"));
  CHECK(seen == std::vector<std::size_t>{2, 3, 4, 5, 6, 7});
  CHECK(told("cannot be restored"));
  CHECK(metrics("run") == wanted);
}

TEST_CASE_METHOD(DurableFixture, "A job without any checkpoint left begins again",
                 "[train][durable]") {
  const auto wanted = untroubled();
  crash("run", 4);
  delete_checkpoints("run", 0);
  session_gone = true;
  REQUIRE(run("run"));
  CHECK(seen.front() == 0);
  CHECK(told("to its beginning"));
  CHECK(metrics("run") == wanted);
  const auto rows = test::read_text(temp.path() / "run" / "checkpoints.jsonl");
  CHECK(std::count(rows.begin(), rows.end(), '\n') == 4);
}

TEST_CASE_METHOD(DurableFixture, "A job that breaks off while it goes back goes back again",
                 "[train][durable]") {
  const auto wanted = untroubled();
  crash("run", 4);
  session_gone = true;
  crash("run", 4);
  crash("run", 5);
  session_gone = false;
  REQUIRE(run("run"));
  CHECK(seen == std::vector<std::size_t>{6, 7});
  CHECK(metrics("run") == wanted);
}

TEST_CASE_METHOD(DurableFixture, "A job whose model is unloaded under it goes back by itself",
                 "[train][durable]") {
  const auto wanted = untroubled();
  const auto outcome = run("run", 1'000, [this](const StepRow& row) {
    if (row.step != 4 || new_sessions > 1)
      return;
    // Somebody else ends the run's model, which the service lists first.
    auto rest = RestClient::connect(local.options());
    REQUIRE(rest);
    auto newest = rest->list_training_runs({}).get();
    REQUIRE(newest);
    auto service = Service::connect(local.options(), {});
    REQUIRE(service);
    auto client = service->attach_training_client(
        {.model_id = newest->training_runs.front().training_run_id, .next_seq_id = 1'000});
    REQUIRE(client);
    REQUIRE(client->unload().get());
  });
  INFO(notices);
  REQUIRE(outcome);
  CHECK(new_sessions == 2);
  CHECK(told("going back to a checkpoint"));
  CHECK(metrics("run") == wanted);
}

TEST_CASE_METHOD(
    DurableFixture,
    "A job that breaks off while it stops, its save noted behind steps under way, goes "
    "on in its session",
    "[train][durable]") {
  job.settings.save_every = 0;
  job.settings.submit_ahead = 2;
  const auto wanted = untroubled();
  CHECK_THROWS_AS(run("run", 3,
                      [&](const StepRow& row) {
                        if (row.step == 2)
                          stop.request_stop();
                        if (row.step == 3)
                          wait_for_note(RequestType::save_weights);
                      }),
                  Crash);
  stop = {};
  const auto outcome = run("run");
  REQUIRE(outcome);
  CHECK(seen == std::vector<std::size_t>{4, 5, 6, 7});
  CHECK(resumed_sessions == 1);
  CHECK(metrics("run") == wanted);
  CHECK(notices.empty());
}

TEST_CASE_METHOD(DurableFixture,
                 "A job that is stopped at once finishes what an earlier process has submitted",
                 "[train][durable]") {
  const auto wanted = untroubled();
  CHECK_THROWS_AS(run("run", 2,
                      [&](const StepRow& row) {
                        if (row.step == 2)
                          wait_for_note(RequestType::optim_step);
                      }),
                  Crash);
  stop.request_stop();
  const auto stopped = run("run");
  INFO((stopped ? std::string{} : stopped.error().message));
  REQUIRE(stopped);
  CHECK(stopped->stopped);
  CHECK(seen == std::vector<std::size_t>{3});
  stop = {};
  REQUIRE(run("run"));
  CHECK(new_sessions == 1);
  CHECK(metrics("run") == wanted);
  CHECK(notices.empty());
}
