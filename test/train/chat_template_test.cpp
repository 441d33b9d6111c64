// SPDX-License-Identifier: Apache-2.0
#include "text/chat_template.hpp"

#include "test/catch.hpp"
#include "text/bpe_trainer.hpp"

#include <array>

#include "train/render.hpp"

using namespace tinkaf;
using namespace tinkaf::text;

// The expected texts are what the templates in the published tokenizer configurations of the models
// make of these conversations, worked out by hand.

namespace {

std::string text_of(const std::vector<ChatPiece>& pieces) {
  std::string result;
  for (const auto& piece : pieces)
    result += piece.text;
  return result;
}

std::string learned_of(const std::vector<ChatPiece>& pieces) {
  std::string result;
  for (const auto& piece : pieces)
    if (piece.weight > 0)
      result += piece.text;
  return result;
}

const Conversation short_chat{{"system", "Be brief."}, {"user", "Hi"}, {"assistant", "Hello"}};

const Conversation long_chat{{"user", "1+1?"},
                             {"assistant", "<think>\nadd\n</think>\n\n2"},
                             {"user", "2+2?"},
                             {"assistant", "<think>\nadd again\n</think>\n\n4"}};

} // namespace

TEST_CASE("Llama 3 has heads of three tokens and trims texts", "[text][chat_template]") {
  const auto pieces = chat_pieces(
      ChatTemplate::llama3, {{"system", " Be brief.\n"}, {"user", "Hi"}, {"assistant", "Hello "}});
  CHECK(text_of(pieces)
        == "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>"
           "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
           "<|start_header_id|>assistant<|end_header_id|>\n\nHello<|eot_id|>");
  CHECK(learned_of(pieces) == "Hello<|eot_id|>");
  CHECK(text_of(prompt_pieces(ChatTemplate::llama3, {{"user", "Hi"}}))
        == "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
           "<|start_header_id|>assistant<|end_header_id|>\n\n");
}

TEST_CASE("Qwen3 thinks in its last answer, also nothing", "[text][chat_template]") {
  const auto pieces = chat_pieces(ChatTemplate::qwen3, short_chat);
  CHECK(text_of(pieces)
        == "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
           "<|im_start|>assistant\n<think>\n\n</think>\n\nHello<|im_end|>\n");
  CHECK(learned_of(pieces) == "<think>\n\n</think>\n\nHello<|im_end|>");
  CHECK(text_of(prompt_pieces(ChatTemplate::qwen3, {{"user", "Hi"}}))
        == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
}

TEST_CASE("Qwen3 forgets what it thought before the last question", "[text][chat_template]") {
  const auto pieces = chat_pieces(ChatTemplate::qwen3, long_chat);
  CHECK(text_of(pieces)
        == "<|im_start|>user\n1+1?<|im_end|>\n<|im_start|>assistant\n2<|im_end|>\n"
           "<|im_start|>user\n2+2?<|im_end|>\n"
           "<|im_start|>assistant\n<think>\nadd again\n</think>\n\n4<|im_end|>\n");
  CHECK(learned_of(pieces) == "2<|im_end|><think>\nadd again\n</think>\n\n4<|im_end|>");
}

TEST_CASE("Thoughts of Qwen3 are framed alike however they were written", "[text][chat_template]") {
  for (const auto* answer : {"<think>why</think>because", "<think>\nwhy\n</think>\n\n\nbecause",
                             "why\n</think>\nbecause"})
    CHECK(text_of(chat_pieces(ChatTemplate::qwen3, {{"user", "?"}, {"assistant", answer}}))
          == "<|im_start|>user\n?<|im_end|>\n"
             "<|im_start|>assistant\n<think>\nwhy\n</think>\n\nbecause<|im_end|>\n");
}

TEST_CASE("Answers of Qwen3 without a question, or behind another answer, keep their form",
          "[text][chat_template]") {
  CHECK(text_of(chat_pieces(ChatTemplate::qwen3, {{"assistant", "Hello"}}))
        == "<|im_start|>assistant\nHello<|im_end|>\n");
  CHECK(
      text_of(chat_pieces(ChatTemplate::qwen3,
                          {{"user", "?"}, {"assistant", "a"}, {"assistant", "<think>b</think>c"}}))
      == "<|im_start|>user\n?<|im_end|>\n<|im_start|>assistant\na<|im_end|>\n"
         "<|im_start|>assistant\n<think>\nb\n</think>\n\nc<|im_end|>\n");
}

TEST_CASE("Qwen3 that is told not to think finds the empty thought in its prompt",
          "[text][chat_template]") {
  const auto chat = ChatTemplate::qwen3_disable_thinking;
  CHECK(text_of(prompt_pieces(chat, {{"user", "Hi"}}))
        == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n");
  const auto pieces = chat_pieces(chat, short_chat);
  CHECK(text_of(pieces) == text_of(chat_pieces(ChatTemplate::qwen3, short_chat)));
  CHECK(learned_of(pieces) == "Hello<|im_end|>");
}

TEST_CASE("Qwen3 that never thinks is plain chatml, as is the shipped model",
          "[text][chat_template]") {
  const std::string expected
      = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n"
        "<|im_start|>assistant\nHello<|im_end|>\n";
  CHECK(text_of(chat_pieces(ChatTemplate::qwen3_instruct, short_chat)) == expected);
  CHECK(text_of(chat_pieces(ChatTemplate::chatml, short_chat)) == expected);
}

TEST_CASE("Of several answers the last alone can be learned", "[text][chat_template]") {
  CHECK(learned_of(chat_pieces(ChatTemplate::qwen3, long_chat, TrainOn::last_assistant_message))
        == "<think>\nadd again\n</think>\n\n4<|im_end|>");
}

TEST_CASE("A prompt is the beginning of what is learned from", "[text][chat_template]") {
  for (const auto chat : {ChatTemplate::chatml, ChatTemplate::llama3, ChatTemplate::qwen3,
                          ChatTemplate::qwen3_disable_thinking, ChatTemplate::qwen3_instruct}) {
    INFO(to_string(chat));
    const auto whole = text_of(chat_pieces(chat, short_chat));
    const auto prompt = text_of(prompt_pieces(chat, {short_chat.begin(), short_chat.end() - 1}));
    CHECK(whole.starts_with(prompt));
    CHECK(parse_chat_template(to_string(chat)) == chat);
  }
  CHECK(parse_chat_template("qwen4").error().message.find("\"qwen4\"") != std::string::npos);
}

TEST_CASE("Models have the format of their family", "[text][chat_template]") {
  CHECK(recommended_chat_template("meta-llama/Llama-3.1-8B-Instruct") == ChatTemplate::llama3);
  CHECK(recommended_chat_template("Qwen/Qwen3-8B") == ChatTemplate::qwen3);
  CHECK(recommended_chat_template("Qwen/Qwen3-4B-Instruct-2507") == ChatTemplate::qwen3_instruct);
  CHECK(recommended_chat_template("tinkaf/tiny") == ChatTemplate::chatml);
  CHECK(recommended_chat_template("openai/gpt-oss-20b").error().code == Errc::not_found);
  CHECK(choose_chat_template("", "Qwen/Qwen3-8B") == ChatTemplate::qwen3);
  CHECK(choose_chat_template("", "mine") == ChatTemplate::chatml);
  CHECK(choose_chat_template("llama3", "Qwen/Qwen3-8B") == ChatTemplate::llama3);
  CHECK_FALSE(choose_chat_template("qwen4", "Qwen/Qwen3-8B").has_value());
}

TEST_CASE("A renderer cuts a conversation of any format into tokens", "[train][render]") {
  auto options = text::BpeOptions{};
  options.vocab_size = 270;
  options.special_tokens
      = {"<|endoftext|>",     "<|im_start|>",        "<|im_end|>",        "<think>",
         "<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"};
  const auto json = text::train_bpe(std::vector<std::string>{"hello"}, options);
  REQUIRE(json);
  const auto tokenizer = text::Tokenizer::parse(*json, "t").value();
  for (const auto chat : {ChatTemplate::llama3, ChatTemplate::qwen3}) {
    INFO(to_string(chat));
    const auto renderer = train::Renderer{tokenizer, chat};
    const auto example = renderer.render({1, short_chat});
    REQUIRE(example);
    const auto inputs = to_ints(example->datum.model_input).value();
    const auto& targets = *example->datum.loss_fn_inputs.at("target_tokens").ints();
    const auto& weights = *example->datum.loss_fn_inputs.at("weights").floats();
    const auto last = static_cast<Token>(targets.back());
    const auto pieces = chat_pieces(chat, short_chat);
    CHECK(tokenizer.decode(inputs) + tokenizer.decode(std::array{last}) == text_of(pieces));
    std::vector<Token> learned;
    for (std::size_t at = 0; at < targets.size(); ++at)
      if (weights[at] > 0)
        learned.push_back(static_cast<Token>(targets[at]));
    CHECK(tokenizer.decode(learned) == learned_of(pieces));
    CHECK(inputs.front()
          == tokenizer.id_of(chat == ChatTemplate::llama3 ? "<|begin_of_text|>" : "<|im_start|>"));
    const auto prompt = renderer.prompt(Conversation{short_chat.begin(), short_chat.end() - 1});
    REQUIRE(prompt);
    CHECK(std::equal(prompt->begin(), prompt->end(), inputs.begin()));
    CHECK(renderer.stop_tokens().back() == tokenizer.id_of(end_of_message(chat)));
  }
}

TEST_CASE("The tokens of a vocabulary tell the format of its model", "[text][chat_template]") {
  const auto format = [](std::vector<std::string> tokens, std::string_view model) {
    auto options = BpeOptions{};
    options.special_tokens = std::move(tokens);
    options.vocab_size = options.special_tokens.size() + 256;
    return chat_template_of(Tokenizer::parse(train_bpe({}, options).value(), "test").value(),
                            model);
  };
  const std::vector<std::string> plain{"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
  auto thinking = plain;
  thinking.insert(thinking.end(), {"<think>", "</think>"});
  CHECK(format(plain, "tinkaf/tiny") == ChatTemplate::chatml);
  CHECK(format(plain, "Qwen/Qwen3-8B") == ChatTemplate::chatml); // whatever it is called
  CHECK(format(thinking, "mine") == ChatTemplate::qwen3);
  CHECK(format(thinking, "Qwen/Qwen3-4B-Instruct-2507") == ChatTemplate::qwen3_instruct);
  CHECK(format({"<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"},
               "mine")
        == ChatTemplate::llama3);
  CHECK(format({"<|endoftext|>"}, "mine").error().message
        == "the vocabulary of this model has no tokens that tell messages apart");
}
