// SPDX-License-Identifier: Apache-2.0
#include "test/cli/cli_fixture.hpp"

#include <filesystem>

using namespace tinkaf::test;

namespace {

/// A served state folder with the checkpoints of one short run.
struct Fixture : CliFixture {
  Fixture() {
    const auto trained = run({"train", "sft", "--data", "data.jsonl", "--out", "run", "--steps",
                              "1", "--batch", "2", "--lora-rank", "4", "--base-url", server.address,
                              "--tokenizer", "model/tokenizer.json", "--json"});
    INFO(trained.err);
    REQUIRE(trained.code == 0);
    sampler_path = text_after(trained.out, "\"sampler_path\":\"");
    run_id = sampler_path.substr(9, sampler_path.find('/', 9) - 9);
  }

  static std::string text_after(const std::string& text, const std::string& head) {
    const auto begin = text.rfind(head);
    REQUIRE(begin != std::string::npos);
    return text.substr(begin + head.size(),
                       text.find('"', begin + head.size()) - begin - head.size());
  }

  [[nodiscard]] Finished there(std::vector<std::string> arguments) const {
    arguments.emplace_back("--base-url");
    arguments.push_back(server.address);
    return run(std::move(arguments));
  }

  [[nodiscard]] static std::size_t count(const std::string& text, const std::string& part) {
    std::size_t result = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
      ++result;
    return result;
  }

  ServeProcess server{*this};
  std::string sampler_path;
  std::string run_id;
};

} // namespace

TEST_CASE_METHOD(Fixture, "Runs and checkpoints are listed for people and for programs",
                 "[cli][rest][end-to-end]") {
  auto listed = there({"run", "list"});
  INFO(listed.err);
  REQUIRE(listed.code == 0);
  CHECK(listed.out.find("1 training run\nRun ID") == 0);
  CHECK(listed.out.find(run_id) != std::string::npos);

  const auto json = there({"-f", "json", "run", "list"});
  CHECK(json.code == 0);
  CHECK(json.out.find("{\n  \"runs\": [") == 0);
  CHECK(json.err.empty());

  listed = there({"checkpoint", "list", "--run-id", run_id, "-f", "json"});
  INFO(listed.err);
  CHECK(listed.code == 0);
  CHECK(listed.out.find("\"run_id\": \"" + run_id + "\"") != std::string::npos);
  CHECK(listed.out.find(sampler_path) != std::string::npos);

  const auto shown = there({"checkpoint", "info", sampler_path});
  CHECK(shown.code == 0);
  CHECK(shown.out.find("sampler_weights/") != std::string::npos);

  CHECK(run({"-f", "json", "version"}).code == 2); // never taken and ignored
  check_one_line(there({"run", "list", "-c", "id,colour"}),
                 "--columns must be one of: id, model, owner, lora, updated, status, checkpoint, "
                 "checkpoint_time, but is `colour`",
                 2);
  check_one_line(there({"run", "info", "nobody"}), "nobody");
  check_one_line(there({"checkpoint", "info", "weights/a"}), "tinker://");
}

TEST_CASE_METHOD(Fixture, "A checkpoint is published and gets an expiry from the command line",
                 "[cli][rest][end-to-end]") {
  CHECK(there({"checkpoint", "publish", sampler_path}).code == 0);
  check_one_line(there({"checkpoint", "publish", sampler_path}), "public");
  CHECK(there({"checkpoint", "unpublish", sampler_path}).code == 0);
  CHECK(there({"checkpoint", "set-ttl", sampler_path, "--ttl", "7200"}).code == 0);
  CHECK(there({"checkpoint", "info", sampler_path}).out.find("in 1 hour") != std::string::npos);
  CHECK(there({"checkpoint", "set-ttl", sampler_path, "--remove"}).code == 0);
  CHECK(there({"checkpoint", "info", sampler_path}).out.find("Never") != std::string::npos);
  CHECK(there({"checkpoint", "set-ttl", sampler_path}).code == 2);
  CHECK(there({"checkpoint", "set-ttl", sampler_path, "--ttl", "5", "--remove"}).code == 2);
  check_one_line(there({"checkpoint", "set-ttl", sampler_path, "--ttl", "0"}),
                 "--ttl must be a whole number of at least 1, but is `0`", 2);
}

TEST_CASE_METHOD(Fixture, "A checkpoint is downloaded into a folder of its own",
                 "[cli][rest][end-to-end]") {
  const auto done = there({"checkpoint", "download", sampler_path, "-o", "files", "-f", "json"});
  INFO(done.err);
  REQUIRE(done.code == 0);
  const auto destination = text_after(done.out, "\"destination\": \"");
  CHECK(std::filesystem::exists(folder.path() / destination / "adapter_config.json"));
  check_one_line(there({"checkpoint", "download", sampler_path, "-o", "files"}),
                 "--force replaces");
  CHECK(there({"checkpoint", "download", sampler_path, "-o", "files", "--force"}).code == 0);
  check_one_line(there({"checkpoint", "download", "tinker://no/weights/one", "-o", "other"}), "");
  CHECK_FALSE(std::filesystem::exists(folder.path() / "other"));
}

TEST_CASE_METHOD(Fixture, "An adapter in a folder becomes a checkpoint from the command line",
                 "[cli][rest][end-to-end]") {
  const auto fetched = there({"checkpoint", "download", sampler_path, "-o", "files", "-f", "json"});
  const auto adapter = text_after(fetched.out, "\"destination\": \"");
  const auto done = there({"checkpoint", "import", adapter, "--name", "mine", "-f", "json"});
  INFO(done.err);
  REQUIRE(done.code == 0);
  const auto imported = text_after(done.out, "\"sampler_path\": \"");
  CHECK(imported.ends_with("/sampler_weights/mine"));
  const auto shown = there({"checkpoint", "info", imported});
  INFO(shown.err);
  CHECK(shown.code == 0);
  CHECK(shown.out.find("4") != std::string::npos); // the rank
  check_one_line(there({"checkpoint", "import", adapter, "--model", "gpt"}), "`gpt` is not served");
  check_one_line(there({"checkpoint", "import", adapter, "--name", "a/b"}), "`a/b`");
  std::filesystem::remove(folder.path() / adapter / "adapter_model.safetensors");
  check_one_line(there({"checkpoint", "import", adapter}), "it has no adapter_model.safetensors");
}

TEST_CASE_METHOD(Fixture, "Removing checkpoints asks first and fails if one fails",
                 "[cli][rest][end-to-end]") {
  auto here = [&] {
    return count(there({"checkpoint", "list", "-f", "json"}).out, "\"tinker_path\"");
  };
  const auto before = here();
  REQUIRE(before > 0);
  check_one_line(there({"checkpoint", "delete", sampler_path, "nonsense", "-y"}), "nonsense");
  check_one_line(there({"checkpoint", "delete", sampler_path, "--run-id", run_id, "-y"}),
                 "not both");
  check_one_line(there({"checkpoint", "delete", sampler_path, "--type", "weights", "-y"}),
                 "need --run-id");
  CHECK(here() == before);

  const auto partly = there(
      {"checkpoint", "delete", "tinker://no/weights/one", sampler_path, "-y", "-f", "json"});
  CHECK(partly.code == 1);
  CHECK(partly.out.find("\"deleted_count\": 1") != std::string::npos);
  CHECK(partly.out.find("\"tinker_path\": \"tinker://no/weights/one\"") != std::string::npos);
  CHECK(here() == before - 1);

  const auto none
      = there({"checkpoint", "delete", "--run-id", run_id, "--before", "2000-01-01", "-y"});
  CHECK(none.code == 0);
  CHECK(none.out == "0 checkpoints removed\n");
  const auto all = there({"checkpoint", "delete", "--run-id", run_id, "-y"});
  INFO(all.err);
  CHECK(all.code == 0);
  CHECK(here() == 0);
}
