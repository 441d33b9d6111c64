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
  check_one_line(run({"train", "sft", "--steps"}), "--steps needs a value", 2);
  check_one_line(run({"sample", "--seed", "1", "--seed", "2"}), "--seed was given more than once",
                 2);
}

TEST_CASE_METHOD(CliFixture, "A value that is not allowed is told with its option and what is",
                 "[cli]") {
  auto check = [&](std::vector<std::string> arguments, const std::string& text) {
    check_one_line(run(std::move(arguments)), text, 2);
  };
  check({"serve", "--port", "70000"},
        "--port must be a whole number from 0 to 65535, but is `70000`");
  check({"serve", "--threads", "-1"}, "--threads must be a whole number from 0 to 1024");
  check({"run", "list", "--limit", "-1"},
        "--limit must be a whole number of at least 0, but is `-1`");
  check({"checkpoint", "list", "--limit", "2.5"}, "--limit must be a whole number");
  check({"-f", "yaml", "run", "list"}, "--format must be one of: table, json, but is `yaml`");
  check({"checkpoint", "delete", "--type", "all"},
        "--type must be one of: weights, sampler_weights");
  check({"sample", "--temperature", "hot"}, "--temperature must be a number of at least 0");
  check({"train", "sft", "--lr-schedule", "linearr"},
        "--lr-schedule must be one of: constant, linear, cosine, but is `linearr`");
  check({"train", "sft", "--steps", "0"}, "--steps must be a whole number of at least 1");
  check({"train", "sft", "--lora-rank", "3"}, "--lora-rank must be a power of two, but is `3`");
  for (const auto* option : {"--data", "--out", "--from"})
    check({"train", "sft", option, ""}, std::string{option} + " must not be empty");
  check({"train", "sft", "--renderer", "qwen4"},
        "--renderer must be one of: chatml, llama3, qwen3");
}

TEST_CASE_METHOD(CliFixture, "A model that is not there, or has no name, is told", "[cli]") {
  check_one_line(run({"serve", "--model", "here"}), "--model is `here`, must be NAME=DIR", 1);
  check_one_line(run({"serve", "--model", "a=nowhere"}), "no model in nowhere", 1);
}

TEST_CASE_METHOD(CliFixture, "A command or option that is none is named with those there are",
                 "[cli]") {
  auto check = [&](std::vector<std::string> arguments, const std::string& text) {
    check_one_line(run(std::move(arguments)), text, 2);
  };
  check({}, "`tinkaf` needs a command behind it: serve, train, sample, ");
  check({"trian"}, "`tinkaf` has no command `trian`; there are: serve, train, ");
  check({"run"}, "`tinkaf run` needs a command behind it: list, info;");
  check({"checkpoint"}, "`tinkaf checkpoint` needs a command behind it: list, info, publish, ");
  check({"train"}, "`tinkaf train` needs a command behind it: sft, dpo, rl, distill;");
  check({"train", "stf", "--steps", "3"}, "`tinkaf train` has no command `stf`; there are: sft");
  check({"run", "lst"}, "`tinkaf run` has no command `lst`; there are: list, info");
  check({"run", "list", "--limti", "3"}, "`tinkaf run list` has no option `--limti`");
  check({"train", "sft", "--dta", "rows.jsonl"}, "`tinkaf train sft` has no option `--dta`");
  check({"version", "now"}, "`tinkaf version` does not take `now`");
  CHECK(run({"--help"}).out.find("ENUM") == std::string::npos);
}

TEST_CASE_METHOD(CliFixture, "Who lacks a key learns of keys and of the local server", "[cli]") {
  const auto result = run({"run", "list", "--base-url", "https://example.invalid"});
  check_one_line(result, "set TINKER_API_KEY; or run `tinkaf serve` and set TINKER_BASE_URL");
  CHECK(run({"sample", "--prompt", "a", "--base-url", "https://example.invalid"}).err
        == result.err);
  check_one_line(run(local({"serve", "--host", "0.0.0.0"})), "set TINKAF_SERVE_API_KEY");
  CHECK_FALSE(std::filesystem::exists(folder.path() / "state"));
}

TEST_CASE_METHOD(CliFixture, "A server takes its key from a file that its owner alone can read",
                 "[cli]") {
  const auto file = folder.path() / "key";
  const auto serve = [&] { return run(local({"serve", "--api-key-file", file.string()})); };
  check_one_line(serve(), "--api-key-file: cannot read " + file.string());
  write_text(file, "tml-secret two\n");
  std::filesystem::permissions(file, std::filesystem::perms{0644});
  check_one_line(serve(), "others than its owner may read");
  std::filesystem::permissions(file, std::filesystem::perms{0600});
  const auto blanks = serve();
  check_one_line(blanks, "one line of printable ASCII without blanks");
  CHECK(blanks.err.find("tml-") == std::string::npos);
  write_text(file, "\n");
  check_one_line(serve(), "must hold a key");
}

TEST_CASE_METHOD(CliFixture, "Looking for what is stored makes no folder", "[cli]") {
  check_one_line(run({"checkpoint", "list", "--state", "missing"}), "there is no folder missing;");
  check_one_line(run({"run", "list"}), "there is no folder " + folder.path().string());
  CHECK_FALSE(std::filesystem::exists(folder.path() / "missing"));
  CHECK_FALSE(std::filesystem::exists(folder.path() / ".local"));
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
  std::filesystem::create_symlink("/dev/zero", folder.path() / "data.jsonl");
  check_one_line(run(local(train("run"))),
                 "--data data.jsonl is a pipe or a device, but must be a file");
}

TEST_CASE_METHOD(CliFixture, "A row longer than the model's context is named", "[cli]") {
  write_text(folder.path() / "data.jsonl",
             "{\"prompt\":\"" + std::string(100'000, 'q') + "\",\"completion\":\"b\"}\n");
  check_one_line(run(local(train("run"))), "data.jsonl:1: the row has ");
  CHECK_FALSE(std::filesystem::exists(folder.path() / "run"));
}

TEST_CASE_METHOD(CliFixture, "Chats in a format that the model has no tokens for are refused",
                 "[cli]") {
  write_text(folder.path() / "data.jsonl",
             R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]})"
             "\n");
  check_one_line(run(local(with(train("run"), {"--renderer", "llama3"}))),
                 "data.jsonl:1: chat messages need the token <|begin_of_text|>");
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
  check_one_line(run(local(train("run"), "served")), "use that server: --base-url");
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
