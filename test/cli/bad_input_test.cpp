// SPDX-License-Identifier: Apache-2.0
#include "test/cli/cli_fixture.hpp"

using namespace tinkaf::test;

namespace {

std::vector<std::string> with(std::vector<std::string> arguments,
                              const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

} // namespace

TEST_CASE_METHOD(CliFixture, "The version is printed for people and for programs", "[cli]") {
  const auto text = run({"version"});
  CHECK(text.code == 0);
  CHECK(text.out.find("tinkaf ") == 0);
  CHECK(run({"version", "--json"}).out.find("{\"version\":\"") == 0);
}

TEST_CASE_METHOD(CliFixture, "Wrong usage is one line and code 2", "[cli]") {
  check_one_line(run({"train", "sft", "--steps", "3"}), "--data is required", 2);
  check_one_line(run({"serve", "--port", "70000"}), "--port", 2);
  check_one_line(run({}), "subcommand", 2);
}

TEST_CASE_METHOD(CliFixture, "A malformed row names file, line and field, and nothing is started",
                 "[cli]") {
  write_text(folder.path() / "data.jsonl",
             "{\"prompt\":\"a\",\"completion\":\"b\"}\n{\"prompt\":\"a\",\"completion\":5}\n");
  const auto result = run(local(train("run")));
  check_one_line(result, "data.jsonl:2: field \"completion\" must be a string, but is a number");
  CHECK_FALSE(std::filesystem::exists(folder.path() / "run"));
  CHECK_FALSE(std::filesystem::exists(folder.path() / "state"));
}

TEST_CASE_METHOD(CliFixture, "A missing data file is named", "[cli]") {
  std::filesystem::remove(folder.path() / "data.jsonl");
  check_one_line(run(local(train("run"))), "cannot read data.jsonl: No such file");
}

TEST_CASE_METHOD(CliFixture, "A row longer than the model's context is named", "[cli]") {
  write_text(folder.path() / "data.jsonl",
             "{\"prompt\":\"" + std::string(100'000, 'q') + "\",\"completion\":\"b\"}\n");
  check_one_line(run(local(train("run"))), "data.jsonl:1: the row has ");
  CHECK_FALSE(std::filesystem::exists(folder.path() / "run"));
}

TEST_CASE_METHOD(CliFixture, "An unknown model is told with those that exist", "[cli]") {
  check_one_line(run(local(with(train("run"), {"--model", "nobody/none"}))),
                 "unknown model \"nobody/none\"; the service offers: ");
  CHECK_FALSE(std::filesystem::exists(folder.path() / "run"));
}

TEST_CASE_METHOD(CliFixture, "A malformed key is refused before anything is sent", "[cli]") {
  const auto result = run(with(train("run"), {"--base-url", "http://127.0.0.1:9"}),
                          {{"TINKER_API_KEY", "no-such-key"}});
  check_one_line(result, "tml-");
  CHECK(result.err.find("no-such-key") == std::string::npos);
}

TEST_CASE_METHOD(CliFixture, "A server that is not there is named with the reason", "[cli]") {
  auto server = ServeProcess{*this};
  const auto address = server.address;
  server.process.send(15);
  REQUIRE(server.process.wait().code == 0);
  const auto result = run(with(train("run"), {"--base-url", address}));
  check_one_line(result, "cannot reach " + address + ": ");
  CHECK(result.err.find(server.port()) == result.err.rfind(server.port())); // named once
  CHECK_FALSE(std::filesystem::exists(folder.path() / "run"));
}

TEST_CASE_METHOD(CliFixture, "A port in use and a state folder in use are told", "[cli]") {
  const auto server = ServeProcess{*this};
  check_one_line(run(local({"serve", "--port", server.port()}, "other")), server.port());
  check_one_line(run(local({"serve"}, "served")), "served");
  check_one_line(run(local(train("run"), "served")), "served");
  CHECK_FALSE(std::filesystem::exists(folder.path() / "run"));
}

TEST_CASE_METHOD(CliFixture, "A full disk ends a run with the file's name", "[cli]") {
  std::filesystem::create_directory(folder.path() / "run");
  std::filesystem::create_symlink("/dev/full", folder.path() / "run" / "metrics.jsonl");
  check_one_line(run(local(train("run"))), "cannot write run/metrics.jsonl: No space left");
}

TEST_CASE_METHOD(CliFixture, "A folder with a run in it is not written to", "[cli]") {
  std::filesystem::create_directory(folder.path() / "run");
  write_text(folder.path() / "run" / "metrics.jsonl", "{}\n");
  check_one_line(run(local(train("run"))), "holds a run already");
  CHECK(read_text(folder.path() / "run" / "metrics.jsonl") == "{}\n");
}

TEST_CASE_METHOD(CliFixture, "A checkpoint to train on cannot be sampled from", "[cli]") {
  check_one_line(
      run(local({"sample", "--model-path", "tinker://r/weights/final", "--prompt", "a"})),
      "sampler_weights");
  check_one_line(run(local({"sample", "--model-path", "nonsense", "--prompt", "a"})), "tinker://");
}
