// SPDX-License-Identifier: Apache-2.0
//
// `tinkaf train dpo|rl|distill`: what they improve, how they go on, and what they refuse.
#include "test/cli/resume_fixture.hpp"

#include <cstdlib>

using namespace tinkaf::test;

namespace {

constexpr int steps = 10;

struct RecipesFixture : ResumeFixture {
  RecipesFixture() {
    auto pairs = std::string{};
    for (auto letter = 'a'; letter <= 'h'; ++letter)
      pairs += std::string{R"({"prompt": ")"} + letter
               + R"(", "chosen": "yes", "rejected": "no"})"
                 "\n";
    write_text(folder.path() / "pairs.jsonl", pairs);
  }

  /// A recipe's command, for the local server.
  static std::vector<std::string> recipe(const std::string& name, const std::string& out,
                                         const std::vector<std::string>& own = {}) {
    auto result = std::vector<std::string>{
        "train",   name, "--data",       name == "dpo" ? "pairs.jsonl" : "data.jsonl",
        "--out",   out,  "--steps",      std::to_string(steps),
        "--batch", "4",  "--lr",         name == "rl" ? "0.01" : "0.02",
        "--seed",  "7",  "--save-every", "1"};
    result.insert(result.end(), own.begin(), own.end());
    return local(std::move(result));
  }

  /// A run that some of what is asked for is already known after.
  void begin() const {
    (void)finish(recipe("sft", "begun"));
  }

  /// Options of a recipe's own; `begin` was called.
  static std::vector<std::string> own_of(const std::string& name) {
    if (name == "rl")
      return {"--from", "begun", "--reward", "prefix", "--max-tokens", "4", "--group", "32"};
    if (name == "distill")
      return {"--teacher", "begun", "--max-tokens", "4"};
    return {};
  }
};

/// A number of a JSON object that is printed.
double number(const std::string& json, const std::string& name) {
  const auto at = json.find('"' + name + "\":");
  REQUIRE(at != std::string::npos);
  return std::strtod(json.c_str() + at + name.size() + 3, nullptr);
}

} // namespace

TEST_CASE_METHOD(RecipesFixture, "Each recipe prints what has improved",
                 "[cli][end-to-end][recipes]") {
  begin();
  const auto ends = [&](const std::string& name, const std::string& column) {
    auto command = recipe(name, name, own_of(name));
    const auto told = finish(command);
    INFO(told.out);
    CHECK(told.out.find(" -> ") != std::string::npos);
    CHECK(told.out.find("sampler  tinker://") != std::string::npos);
    command.emplace_back("--json");
    const auto json = finish(command).out;
    return std::pair{number(json, "first_" + column), number(json, "last_" + column)};
  };
  const auto [loss, later_loss] = ends("dpo", "dpo_loss");
  CHECK(later_loss < loss - 0.2);
  const auto [reward, later_reward] = ends("rl", "reward/total");
  CHECK(later_reward > reward + 0.1);
  const auto [kl, later_kl] = ends("distill", "reverse_kl");
  CHECK(later_kl < kl / 2);
}

TEST_CASE_METHOD(RecipesFixture,
                 "A recipe that is killed at every step, its server with it, ends bit-equal",
                 "[cli][end-to-end][recipes][resume]") {
  begin();
  const auto name = std::string{GENERATE("dpo", "rl", "distill")};
  (void)finish(recipe(name, "untroubled", own_of(name)));
  CHECK(kill_at_every_step(recipe(name, "killed", own_of(name)), steps) >= 2);
  CHECK(metrics("killed") == metrics("untroubled"));
}

TEST_CASE_METHOD(RecipesFixture, "Stages follow one another, each from the end of the one before",
                 "[cli][end-to-end][recipes]") {
  begin();
  (void)finish(recipe("dpo", "second", {"--from", "begun"}));
  (void)finish(recipe("rl", "third", {"--from", "second", "--max-tokens", "4"}));
  // The optimizer begins afresh: the first step of a stage sees the weights of the last alone.
  const auto first = metrics("second").substr(0, metrics("second").find('\n'));
  CHECK(std::abs(number(first, "margin")) < 1e-3);
  const auto config = read_text(folder.path() / "third" / "config.json");
  CHECK(config.find("\"from\":\"tinker://") != std::string::npos);
  // Killed stages go on although their origin is known only to the command.
  CHECK(kill_at_every_step(recipe("dpo", "again", {"--from", "begun"}), steps) >= 2);
  CHECK(metrics("again") == metrics("second"));
}

TEST_CASE_METHOD(RecipesFixture, "Wrong values of recipes are one line and code 2",
                 "[cli][recipes][errors]") {
  const auto check
      = [&](const std::string& name, const std::vector<std::string>& own, const std::string& text) {
          check_one_line(run(recipe(name, "run", own)), text, 2);
          CHECK_FALSE(std::filesystem::exists(folder.path() / "run"));
        };
  check("dpo", {"--beta", "0"}, "--beta must be a number above 0, but is `0`");
  check("dpo", {"--beta", "-0.1"}, "--beta must be a number above 0, but is `-0.1`");
  check("rl", {"--group", "1"}, "--group must be a whole number from 2 to ");
  check("dpo", {"--reference", ""}, "--reference must not be empty");
  check("distill", {"--teacher", ""}, "--teacher must not be empty");
  check("rl", {"--max-tokens", "0"}, "--max-tokens must be a whole number from 1 to ");
  check("rl", {"--reward", "best"}, "--reward must be one of: exact, prefix, but is `best`");
  check("distill", {}, "--teacher is required");
  check("distill", {"--teacher", "tinkaf/random", "--group", "0"},
        "--group must be a whole number from 1 to ");
  for (const auto* name : {"sft", "dpo", "rl", "distill"}) {
    auto command = std::vector<std::string>{"train", name, "--data", "data.jsonl", "--out", "run"};
    command.insert(command.end(), {"--steps", "2", "--teacher", "tinkaf/random"});
    if (std::string{name} != "distill")
      command.resize(command.size() - 2);
    command.insert(command.end(), {"--lr", "-0.5"});
    check_one_line(run(command), "--lr must be a number of at least 0, but is `-0.5`", 2);
  }
}

TEST_CASE_METHOD(RecipesFixture, "Bad rows of recipes are named before anything is started",
                 "[cli][recipes][errors]") {
  const auto check = [&](const std::string& name, const std::string& rows,
                         const std::string& text) {
    write_text(folder.path() / "data.jsonl", rows);
    write_text(folder.path() / "pairs.jsonl", rows);
    const auto own = name == "distill" ? std::vector<std::string>{"--teacher", "tinkaf/random"}
                                       : std::vector<std::string>{};
    check_one_line(run(recipe(name, "run", own)), text);
    CHECK_FALSE(std::filesystem::exists(folder.path() / "run"));
  };
  const auto chat
      = R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]})";
  check("dpo", "\n", "pairs.jsonl holds no rows");
  check("dpo", chat, "pairs.jsonl:1: field \"prompt\" is missing");
  check("dpo", R"({"prompt":"a","chosen":"b","rejected":"b"})",
        "pairs.jsonl:1: fields \"chosen\" and \"rejected\" are the same");
  check("dpo", R"({"prompt":")" + std::string(1'000, 'q') + R"(","chosen":"b","rejected":"c"})",
        "pairs.jsonl:1: prompt and answer have 1002 tokens, but the model takes at most 128");
  for (const auto* name : {"rl", "distill"}) {
    check(name, "", "data.jsonl holds no rows");
    check(name, chat, "data.jsonl:1: fields \"prompt\" and \"completion\" are missing");
    check(name, R"({"prompt":"","completion":"b"})", "data.jsonl:1: field \"prompt\" is empty");
    check(name, R"({"prompt":")" + std::string(100, 'q') + R"(","completion":"b"})",
          "data.jsonl:1: the prompt has 100 tokens and an answer up to 32, but the model takes at "
          "most 128");
  }
  std::filesystem::remove(folder.path() / "pairs.jsonl");
  check_one_line(run(recipe("dpo", "run")), "cannot read pairs.jsonl: No such file");
}

TEST_CASE_METHOD(RecipesFixture, "Weights that a recipe cannot take are named with their option",
                 "[cli][recipes][errors]") {
  begin();
  const auto check
      = [&](const std::string& name, const std::vector<std::string>& own, const std::string& text) {
          check_one_line(run(recipe(name, "run", own)), text);
          CHECK_FALSE(std::filesystem::exists(folder.path() / "run"));
        };
  check("dpo", {"--model", "nobody/none"}, "unknown model \"nobody/none\"; the service offers: ");
  check("dpo", {"--reference", "nobody/none"}, "--reference: unknown model \"nobody/none\"");
  check("dpo", {"--reference", "tinker://r/weights/a"}, "--reference: tinker://r/weights/a is to ");
  check("distill", {"--teacher", "nobody/none"}, "--teacher: unknown model \"nobody/none\"");
  check("distill", {"--teacher", "tinker://r/sampler_weights/a"}, "--teacher: ");
  check("distill", {"--teacher", "model"}, "--teacher: model is no folder of a run");
  for (const auto* name : {"sft", "dpo", "rl"}) {
    check(name, {"--from", "nowhere"}, "--from: nowhere is no folder of a run");
    check(name, {"--from", "tinker://r/sampler_weights/a"}, "--from: tinker://r/sampler_weights/a");
    check(name, {"--from", "tinker://r/weights/a"}, "--from: ");
    check(name, {"--from", "begun", "--lora-rank", "4"},
          "--from begun has the rank 32, but --lora-rank is 4: leave it out");
    check(name, {"--from", "begun", "--model", "other"}, "--from begun is of another base model");
  }
}
