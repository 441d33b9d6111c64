// SPDX-License-Identifier: Apache-2.0
#include "test/cli/cli_fixture.hpp"

#include <signal.h>

using namespace tinkaf;
using namespace tinkaf::test;

// What the program says of itself: who is supervised, that it is in test mode, that it was stopped.

TEST_CASE_METHOD(CliFixture, "A run shows who of its client broke, and why", "[cli][end-to-end]") {
  auto arguments = local(train("run", 2));
  arguments.emplace_back("--tree");
  const auto done = run(arguments, {{"TINKAF_TEST_BREAKS", "1"}, {"TINKAF_TEST_PACE", "50"}});
  INFO(done.err);
  INFO(done.out);
  REQUIRE(done.code == 0);
  for (const auto* part : {"\nsession ", "\n  http: running", "\n  sampling gate: running",
                           "\n  pollers: running", "\n  training client "})
    CHECK(done.out.find(part) != std::string::npos);
}

TEST_CASE_METHOD(CliFixture, "A server in test mode says so in its first line", "[cli]") {
  const auto mentions_it
      = [](const std::string& line) { return line.find("TEST MODE") != std::string::npos; };
  auto process = Process{start(local({"serve", "--test-mode"}))};
  CHECK(mentions_it(process.read_line()));
  auto sound = Process{start(local({"serve"}, "other"))};
  CHECK_FALSE(mentions_it(sound.read_line()));
}

TEST_CASE_METHOD(CliFixture, "A second signal ends a run that is still finishing what is under way",
                 "[cli][end-to-end][shutdown]") {
  const auto server = ServeProcess{*this};
  auto arguments = train("run", 1'000'000);
  for (const auto* more :
       {"--base-url", server.address.c_str(), "--tokenizer", "model/tokenizer.json"})
    arguments.emplace_back(more);
  auto process = Process{start(arguments)};
  REQUIRE(process.read_line().find("1/1000000 steps") == 0);
  server.process.send(SIGSTOP); // answers nothing any more
  process.send(SIGINT);
  process.send(SIGTERM); // not the same one, of which two may be told of as one
  const auto done = process.wait();
  CHECK((done.code == 128 + SIGINT || done.code == 128 + SIGTERM));
  CHECK(done.err.find("tinkaf: stopped") == std::string::npos); // as after one, with time to finish
  CHECK(read_text(folder.path() / "run" / "checkpoints.jsonl").empty());
  server.process.send(SIGCONT);
  auto again = Process{start(arguments)};
  CHECK(again.read_line().find("going on with step ") == 0);
}
