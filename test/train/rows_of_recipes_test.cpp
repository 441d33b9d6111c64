// SPDX-License-Identifier: Apache-2.0
//
// What recipes other than supervised training are fed: preferences and prompts.
#include "test/catch.hpp"
#include "test/train/temp_folder.hpp"
#include "text/bpe_trainer.hpp"

#include <utility>

#include "train/preferences.hpp"
#include "train/prompts.hpp"

using namespace tinkaf;
using namespace tinkaf::train;

namespace {

Renderer make_renderer() {
  const auto texts = std::vector<std::string>{"hello"};
  const auto json = text::train_bpe(texts, {.vocab_size = 259}); // bytes
  REQUIRE(json);
  auto tokenizer = text::Tokenizer::parse(*json, "tokenizer.json");
  REQUIRE(tokenizer);
  return Renderer{*tokenizer};
}

template <class T>
std::string refusal(const Result<T>& result) {
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Errc::invalid_argument);
  return result.error().message;
}

std::vector<float> weights(const Example& example) {
  return *example.datum.loss_fn_inputs.at("weights").floats();
}

} // namespace

TEST_CASE("Preferences are a prompt and two answers, of which the answers count",
          "[train][preferences]") {
  const auto rows = parse_preferences("\n"
                                      R"({"prompt":"a:","chosen":"yes","rejected":"no","by":1})",
                                      "pairs.jsonl");
  REQUIRE(rows);
  REQUIRE(rows->size() == 1);
  CHECK(rows->front().line == 2);
  const auto renderer = make_renderer();
  const auto pairs = render_preferences(renderer, *rows, "pairs.jsonl");
  REQUIRE(pairs);
  const auto& [chosen, rejected] = pairs->front();
  // "a:" is two tokens, an answer a token a letter and its end.
  CHECK(weights(chosen) == std::vector<float>{0, 1, 1, 1, 1});
  CHECK(weights(rejected) == std::vector<float>{0, 1, 1, 1});
  CHECK(renderer.tokenizer().decode(*to_ints(chosen.datum.model_input)) == "a:yes");
  CHECK(renderer.tokenizer().decode(*to_ints(rejected.datum.model_input)) == "a:no");
  CHECK(check_lengths(*pairs, 6, "pairs.jsonl"));
  CHECK(refusal(check_lengths(*pairs, 5, "pairs.jsonl"))
        == "pairs.jsonl:2: prompt and answer have 6 tokens, but the model takes at most 5");
}

TEST_CASE("A bad preference is named by file, line and field", "[train][preferences][errors]") {
  const auto [row, reason]
      = GENERATE(std::pair{R"({"prompt":"a","chosen":"b"})", R"(field "rejected" is missing)"},
                 std::pair{R"({"prompt":"a","chosen":["b"],"rejected":"c"})",
                           R"(field "chosen" must be a string, but is an array)"},
                 std::pair{R"({"chosen":"b","rejected":"c"})", R"(field "prompt" is missing)"},
                 std::pair{R"({"prompt":"a","chosen":"b","rejected":"b"})",
                           R"(fields "chosen" and "rejected" are the same)"},
                 std::pair{R"("a")", "a row must be an object, but this is a string"});
  const auto good = std::string{"{\"prompt\":\"a\",\"chosen\":\"b\",\"rejected\":\"c\"}\n"};
  CHECK(refusal(parse_preferences(good + row, "p.jsonl")) == std::string{"p.jsonl:2: "} + reason);
}

TEST_CASE("A file without preferences, and one that is not there, are named",
          "[train][preferences][errors]") {
  CHECK(refusal(parse_preferences(" \n\n", "p.jsonl")) == "p.jsonl holds no rows");
  const auto folder = test::TempFolder{};
  const auto missing = read_preferences(folder.path() / "p.jsonl");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().message.find("p.jsonl: No such file") != std::string::npos);
}

TEST_CASE("Prompts are what the model reads in training before a completion", "[train][prompts]") {
  const auto renderer = make_renderer();
  const auto rows = std::vector<DataRow>{{3, PromptCompletion{"a:", "yes"}}};
  const auto prompts = render_prompts(renderer, rows, "rows.jsonl");
  REQUIRE(prompts);
  CHECK(prompts->front().tokens == renderer.prompt("a:"));
  CHECK(prompts->front().row == PromptCompletion{"a:", "yes"});
  CHECK(check_lengths(*prompts, 4, 6, "rows.jsonl"));
  CHECK(refusal(check_lengths(*prompts, 5, 6, "rows.jsonl"))
        == "rows.jsonl:3: the prompt has 2 tokens and an answer up to 5, but the model takes at "
           "most 6");
}

TEST_CASE("What no answers can be drawn to is named by its line", "[train][prompts][errors]") {
  const auto renderer = make_renderer();
  CHECK(
      refusal(render_prompts(renderer, {{7, Conversation{{"user", "a"}, {"assistant", "b"}}}},
                             "rows.jsonl"))
      == "rows.jsonl:7: fields \"prompt\" and \"completion\" are missing: answers cannot be drawn "
         "to \"messages\"");
  CHECK(refusal(render_prompts(renderer, {{8, PromptCompletion{"", "b"}}}, "rows.jsonl"))
        == "rows.jsonl:8: field \"prompt\" is empty");
}
