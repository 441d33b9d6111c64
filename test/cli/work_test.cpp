// SPDX-License-Identifier: Apache-2.0
#include "test/cli/cli_fixture.hpp"

#include <signal.h>

using namespace tinkaf::test;

namespace {

/// The value of a text field of the last JSON object that a command printed.
std::string field(const std::string& json, const std::string& name) {
  const auto head = "\"" + name + "\":\"";
  const auto begin = json.rfind(head);
  REQUIRE(begin != std::string::npos);
  const auto from = begin + head.size();
  return json.substr(from, json.find('"', from) - from);
}

std::vector<std::string> with(std::vector<std::string> arguments,
                              const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

} // namespace

TEST_CASE_METHOD(CliFixture, "The same seed gives equal metrics twice", "[cli][end-to-end]") {
  for (const auto* name : {"one", "two"}) {
    const auto done = run(local(train(name), std::string{"state-"} + name));
    INFO(done.err);
    REQUIRE(done.code == 0);
    CHECK(done.out.find("4/4 steps  loss ") != std::string::npos);
  }
  const auto first = read_text(folder.path() / "one" / "metrics.jsonl");
  CHECK(std::count(first.begin(), first.end(), '\n') == 4);
  CHECK(first.find("\"train_mean_nll\":") != std::string::npos);
  CHECK(first == read_text(folder.path() / "two" / "metrics.jsonl"));
}

TEST_CASE_METHOD(CliFixture, "A server trains for one process and samples for another",
                 "[cli][end-to-end]") {
  auto server = ServeProcess{*this};
  const auto there = std::vector<std::string>{"--base-url", server.address, "--tokenizer",
                                              "model/tokenizer.json", "--json"};
  const auto trained = run(with(with(train("run"), there), {"--client-metrics"}));
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  CHECK(trained.out.find(R"("client_metrics":{"period_ms":)") != std::string::npos);
  CHECK(trained.out.find(R"("optim_step":{"outcomes":{"ok":4})") != std::string::npos);
  const auto path = field(trained.out, "sampler_path");
  CHECK(read_text(folder.path() / "run" / "checkpoints.jsonl").find(path) != std::string::npos);

  const auto sample = with(
      {"sample", "--model-path", path, "--prompt", "a", "--max-tokens", "5", "--seed", "3"}, there);
  const auto first = run(sample);
  const auto second = run(sample);
  INFO(first.err);
  REQUIRE(first.code == 0);
  CHECK(first.out == second.out);
  CHECK(field(first.out, "prompt") == "a");

  server.process.send(SIGTERM);
  CHECK(server.process.wait().code == 0);
}

TEST_CASE_METHOD(CliFixture, "A run ends with the command that samples from its checkpoint",
                 "[cli][end-to-end]") {
  const auto trained = run(local(train("run", 1), "my state"));
  INFO(trained.err);
  REQUIRE(trained.code == 0);
  const std::string head = "to sample: ";
  const auto begin = trained.out.find(head) + head.size();
  REQUIRE(begin > head.size());
  const auto command = trained.out.substr(begin, trained.out.find('\n', begin) - begin);
  CHECK(command.find("sample --model-path tinker://") != std::string::npos);
  CHECK(command.ends_with(" --state 'my state' --model-dir model"));
  const auto sampler = command.substr(command.find("tinker://"));
  const auto sampled = run(local({"sample", "--model-path", sampler.substr(0, sampler.find(' ')),
                                  "--prompt", "a", "--max-tokens", "2"},
                                 "my state"));
  INFO(sampled.err);
  CHECK(sampled.code == 0);
}

TEST_CASE_METHOD(CliFixture, "^C ends a run with a checkpoint and leaves nothing running",
                 "[cli][end-to-end][shutdown]") {
  auto process = Process{start(local(train("run", 1'000'000)))};
  REQUIRE(process.read_line().find("1/1000000 steps") == 0);
  process.send(SIGINT);
  const auto done = process.wait();
  INFO(done.err);
  CHECK(done.code == 130);
  CHECK(done.err.find("tinkaf: stopped") != std::string::npos);
  CHECK(read_text(folder.path() / "run" / "checkpoints.jsonl").find("\"name\":\"step_")
        != std::string::npos);
  // The state folder is free again.
  CHECK(run(local({"sample", "--prompt", "a", "--max-tokens", "1"})).code == 0);
}
