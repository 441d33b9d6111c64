// SPDX-License-Identifier: Apache-2.0
#include "test/cli/resume_fixture.hpp"

using namespace tinkaf::test;

namespace {

constexpr int steps = 12;

struct SftFixture : ResumeFixture {
  /// The metrics of a run that nothing happens to.
  [[nodiscard]] std::string untroubled() const {
    (void)finish(local(train("untroubled", steps), "another"));
    return metrics("untroubled");
  }
};

} // namespace

TEST_CASE_METHOD(
    SftFixture,
    "A run that is killed at every step, the next one under way, goes on in its session",
    "[cli][end-to-end][resume]") {
  const auto wanted = untroubled();
  const auto server = ServeProcess{*this};
  const auto environment = std::map<std::string, std::string>{{"TINKER_BASE_URL", server.address},
                                                              {"TINKER_API_KEY", "tml-test"}};
  auto arguments = train("run", steps);
  arguments.insert(arguments.end(), {"--tokenizer", "model/tokenizer.json"});
  CHECK(kill_at_every_step(arguments, steps, environment) >= steps / 2);
  CHECK(metrics("run") == wanted);
  // All its checkpoints are of one model: no other was ever made.
  const auto listed = run({"run", "list", "-f", "json"}, environment);
  INFO(listed.out << listed.err);
  REQUIRE(listed.code == 0);
  const auto first = listed.out.find("\"training_run_id\"");
  REQUIRE(first != std::string::npos);
  CHECK(listed.out.find("\"training_run_id\"", first + 1) == std::string::npos);
}

TEST_CASE_METHOD(SftFixture, "A run that is killed together with its server goes on",
                 "[cli][end-to-end][resume]") {
  const auto wanted = untroubled();
  auto arguments = local(train("run", steps));
  arguments.insert(arguments.end(), {"--save-every", "1"});
  CHECK(kill_at_every_step(arguments, steps) >= 1);
  CHECK(metrics("run") == wanted);
}

TEST_CASE_METHOD(SftFixture, "A run that was stopped with ^C goes on with the same command",
                 "[cli][end-to-end][resume]") {
  const auto wanted = untroubled();
  {
    auto process = Process{start(local(train("run", steps)))};
    REQUIRE(process.read_line().find("1/") != std::string::npos);
    process.send(SIGINT);
    const auto done = process.wait();
    CHECK(done.code == 130);
    CHECK(done.err.find("the same command goes on") != std::string::npos);
  }
  const auto done = run(local(train("run", steps)));
  INFO(done.err);
  CHECK(done.code == 0);
  CHECK(done.out.find("going on with step ") == 0);
  CHECK(metrics("run") == wanted);
}

TEST_CASE_METHOD(SftFixture, "A run at its end is not run again", "[cli][end-to-end][resume]") {
  const auto wanted = untroubled();
  const auto checkpoints = read_text(folder.path() / "untroubled" / "checkpoints.jsonl");
  const auto again = run(local(train("untroubled", steps), "another"));
  CHECK(again.code == 0);
  CHECK(metrics("untroubled") == wanted);
  CHECK(read_text(folder.path() / "untroubled" / "checkpoints.jsonl") == checkpoints);
}

TEST_CASE_METHOD(SftFixture,
                 "A run at its end is told to be, without a service; one of another job is refused",
                 "[cli][end-to-end][resume]") {
  const auto wanted = untroubled();
  // Nobody listens there, and a state folder would be made by a server of the command's own.
  const auto nobody = std::map<std::string, std::string>{{"TINKER_BASE_URL", "http://127.0.0.1:1"},
                                                         {"TINKER_API_KEY", "tml-test"}};
  const auto again = run(train("untroubled", steps), nobody);
  INFO(again.err);
  CHECK(again.code == 0);
  CHECK(again.out.find("the run is at its end already\n12 steps, loss ") == 0);
  CHECK(again.out.find("\nsampler  tinker://") != std::string::npos);
  CHECK(metrics("untroubled") == wanted);
  auto as_json = train("untroubled", steps);
  as_json.emplace_back("--json");
  CHECK(run(as_json, nobody).out.find("\"steps\":12") != std::string::npos);
  check_one_line(run(train("untroubled", steps + 1), nobody),
                 "its --steps is 12, but 13 is asked for");
  auto other_model = train("untroubled", steps);
  other_model.insert(other_model.end(), {"--model", "other"});
  check_one_line(run(other_model, nobody), "but other is asked for");
}

TEST_CASE_METHOD(SftFixture, "A run's folder is for one job and one process", "[cli][resume]") {
  auto process = Process{start(local(train("run", 1'000'000)))};
  REQUIRE(process.read_line().find("1/") != std::string::npos);
  check_one_line(run(local(train("run", 1'000'000), "another")), "is in use by another process");
  process.send(SIGKILL);
  (void)process.wait();
  check_one_line(run(local(train("run", 5))), "its --steps is 1000000, but 5 is asked for");
  write_text(folder.path() / "data.jsonl", R"({"prompt": "x", "completion": "y"})");
  check_one_line(run(local(train("run", 1'000'000))), "the content of --data");
}
