// SPDX-License-Identifier: Apache-2.0
#include "train/render.hpp"

#include "test/catch.hpp"
#include "text/bpe_trainer.hpp"

using namespace tinkaf;
using namespace tinkaf::train;

namespace {

text::Tokenizer make_tokenizer(const text::BpeOptions& options) {
  const auto texts = std::vector<std::string>{"user assistant system hello world"};
  const auto json = text::train_bpe(texts, options);
  REQUIRE(json);
  auto tokenizer = text::Tokenizer::parse(*json, "tokenizer.json");
  REQUIRE(tokenizer);
  return *tokenizer;
}

Renderer make_renderer() {
  auto options = text::BpeOptions{};
  options.vocab_size = 280;
  return Renderer{make_tokenizer(options)};
}

/// Input, targets and weights of an example as one readable line.
struct Columns {
  std::string inputs;
  std::string learned;
};

Columns columns(const Renderer& renderer, const Example& example) {
  const auto inputs = to_ints(example.datum.model_input);
  REQUIRE(inputs);
  const auto& targets = *example.datum.loss_fn_inputs.at("target_tokens").ints();
  const auto& weights = *example.datum.loss_fn_inputs.at("weights").floats();
  REQUIRE(inputs->size() == targets.size());
  REQUIRE(inputs->size() == weights.size());
  REQUIRE(inputs->size() == example.tokens());
  auto learned = std::vector<std::int32_t>{};
  for (std::size_t at = 0; at < targets.size(); ++at) {
    if (at + 1 < inputs->size())
      CHECK(targets[at] == (*inputs)[at + 1]);
    if (weights[at] > 0)
      learned.push_back(static_cast<std::int32_t>(targets[at]));
  }
  return {renderer.tokenizer().decode(*inputs), renderer.tokenizer().decode(learned)};
}

} // namespace

TEST_CASE("A completion and its end are learned, the prompt is not", "[train][render]") {
  const auto renderer = make_renderer();
  const auto example = renderer.render({7, PromptCompletion{"hello", " world"}});
  REQUIRE(example);
  CHECK(example->line == 7);
  const auto [inputs, learned] = columns(renderer, *example);
  CHECK(inputs == "hello world");
  CHECK(learned == " world<|endoftext|>");
  CHECK(example->target_bytes.back() == 0);
}

TEST_CASE("Training and sampling cut a prompt into the same tokens", "[train][render]") {
  const auto renderer = make_renderer();
  const auto example = renderer.render({1, PromptCompletion{"hel", "lo"}});
  REQUIRE(example);
  const auto prompt = renderer.prompt("hel");
  const auto inputs = to_ints(example->datum.model_input);
  REQUIRE(inputs);
  REQUIRE(prompt.size() <= inputs->size());
  CHECK(std::equal(prompt.begin(), prompt.end(), inputs->begin()));
}

TEST_CASE("Of a chat the assistant's messages and their ends are learned", "[train][render]") {
  const auto renderer = make_renderer();
  const auto chat = Conversation{
      {"user", "hello"}, {"assistant", "world"}, {"user", "more"}, {"assistant", "yes"}};
  const auto example = renderer.render({1, chat});
  REQUIRE(example);
  const auto [inputs, learned] = columns(renderer, *example);
  CHECK(inputs
        == "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\nworld<|im_end|>\n"
           "<|im_start|>user\nmore<|im_end|>\n<|im_start|>assistant\nyes<|im_end|>");
  CHECK(learned == "world<|im_end|>yes<|im_end|>");
}

TEST_CASE("A chat to be gone on with ends with the assistant's head", "[train][render]") {
  const auto renderer = make_renderer();
  const auto prompt = renderer.prompt(Conversation{{"user", "hello"}});
  REQUIRE(prompt);
  CHECK(renderer.tokenizer().decode(*prompt)
        == "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n");
}

TEST_CASE("Text of the data never becomes a special token", "[train][render]") {
  const auto renderer = make_renderer();
  const auto chat = Conversation{{"user", "<|im_end|>"}, {"assistant", "x"}};
  const auto example = renderer.render({1, chat});
  REQUIRE(example);
  const auto end = renderer.tokenizer().id_of("<|im_end|>");
  const auto& targets = *example->datum.loss_fn_inputs.at("target_tokens").ints();
  CHECK(std::count(targets.begin(), targets.end(), *end) == 2);
}

TEST_CASE("A chat needs a tokenizer with the tokens of chats", "[train][render]") {
  auto options = text::BpeOptions{};
  options.vocab_size = 270;
  options.special_tokens = {"<|endoftext|>"};
  const auto renderer = Renderer{make_tokenizer(options)};
  const auto rows = std::vector<DataRow>{{1, PromptCompletion{"a", "b"}},
                                         {4, Conversation{{"assistant", "x"}}}};
  const auto examples = render_all(renderer, rows, "data.jsonl");
  REQUIRE_FALSE(examples);
  CHECK(examples.error().message.find("data.jsonl:4: chat messages need the token <|im_start|>")
        == 0);
}

TEST_CASE("A row that is too long or too short is named by its line", "[train][render]") {
  const auto renderer = make_renderer();
  const auto rows
      = std::vector<DataRow>{{1, PromptCompletion{"a", "b"}}, {2, PromptCompletion{"zzzz", "qqq"}}};
  const auto examples = render_all(renderer, rows, "data.jsonl");
  REQUIRE(examples);
  CHECK(check_lengths(*examples, 7, "data.jsonl"));
  const auto too_long = check_lengths(*examples, 6, "data.jsonl");
  REQUIRE_FALSE(too_long);
  CHECK(too_long.error().message
        == "data.jsonl:2: the row has 7 tokens, but the model takes at most 6");
  const auto empty = render_all(renderer, {{3, PromptCompletion{"", ""}}}, "data.jsonl");
  REQUIRE_FALSE(empty);
  CHECK(empty.error().message.find("data.jsonl:3: a row needs at least two tokens") == 0);
}
