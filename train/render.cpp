// SPDX-License-Identifier: Apache-2.0
#include "train/render.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

namespace tinkaf::train {

namespace {

/// Tokens with their weights, as they are strung together.
class Strip {
public:
  explicit Strip(const text::Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  void text(std::string_view text, float weight) {
    for (const auto token : tokenizer_.encode(text, true))
      plain(token, weight);
  }

  void plain(Token token, float weight) {
    push(token, weight, static_cast<std::int32_t>(tokenizer_.token_bytes(token).size()));
  }

  void special(Token token, float weight) {
    push(token, weight, 0);
  }

  /// A token that starts texts, where the vocabulary has one for that and nothing else.
  void begin() {
    if (const auto bos = text::beginning_of_text(tokenizer_))
      special(*bos, 0);
  }

  [[nodiscard]] std::vector<Token> take_tokens() {
    return std::move(tokens_);
  }

  /// Each token predicts the one after it, so what is predicted lies one place to the left.
  [[nodiscard]] Result<Example> example(std::size_t line) const {
    if (tokens_.size() < 2)
      return fail(Errc::invalid_argument,
                  "a row needs at least two tokens, the second to be learned from the first");
    auto result = Example{};
    result.line = line;
    result.datum.model_input = ModelInput::from_ints({tokens_.begin(), tokens_.end() - 1});
    result.datum.loss_fn_inputs.emplace("target_tokens", TensorData::of(std::vector<std::int64_t>{
                                                             tokens_.begin() + 1, tokens_.end()}));
    result.datum.loss_fn_inputs.emplace(
        "weights", TensorData::of(std::vector<float>{weights_.begin() + 1, weights_.end()}));
    result.target_bytes.assign(bytes_.begin() + 1, bytes_.end());
    return result;
  }

private:
  void push(Token token, float weight, std::int32_t bytes) {
    tokens_.push_back(token);
    weights_.push_back(weight);
    bytes_.push_back(bytes);
  }

  const text::Tokenizer& tokenizer_;
  std::vector<Token> tokens_;
  std::vector<float> weights_;
  std::vector<std::int32_t> bytes_;
};

/// Adds a conversation.
Result<void> add_chat(const text::Tokenizer& tokenizer, ChatTemplate chat, Strip& strip,
                      const std::vector<text::ChatPiece>& pieces) {
  const auto tokens = chat_tokens(tokenizer, chat, pieces);
  if (!tokens)
    return fail(tokens.error().code,
                tokens.error().message + "; give \"prompt\" and \"completion\"");
  for (const auto& token : *tokens)
    if (token.special)
      strip.special(token.id, token.weight);
    else
      strip.plain(token.id, token.weight);
  return {};
}

} // namespace

Renderer::Renderer(text::Tokenizer tokenizer, ChatTemplate chat, TrainOn train_on)
    : tokenizer_(std::move(tokenizer)), chat_(chat), train_on_(train_on) {}

Result<Example> Renderer::render(const DataRow& row) const {
  auto strip = Strip{tokenizer_};
  if (const auto* plain = std::get_if<PromptCompletion>(&row.content)) {
    strip.begin();
    strip.text(plain->prompt, 0);
    strip.text(plain->completion, 1);
    if (const auto eos = tokenizer_.eos())
      strip.special(*eos, 1);
    return strip.example(row.line);
  }
  const auto& conversation = std::get<Conversation>(row.content);
  if (auto added = add_chat(tokenizer_, chat_, strip, chat_pieces(chat_, conversation, train_on_));
      !added)
    return fail(std::move(added.error()));
  return strip.example(row.line);
}

std::vector<Token> Renderer::prompt(std::string_view text) const {
  auto strip = Strip{tokenizer_};
  strip.begin();
  strip.text(text, 0);
  return strip.take_tokens();
}

Result<std::vector<Token>> Renderer::prompt(const Conversation& conversation) const {
  auto strip = Strip{tokenizer_};
  if (auto added = add_chat(tokenizer_, chat_, strip, prompt_pieces(chat_, conversation)); !added)
    return fail(std::move(added.error()));
  return strip.take_tokens();
}

std::vector<Token> Renderer::stop_tokens() const {
  auto result = std::vector<Token>{};
  if (const auto eos = tokenizer_.eos())
    result.push_back(*eos);
  if (const auto end = tokenizer_.id_of(end_of_message(chat_)))
    result.push_back(*end);
  return result;
}

Result<std::vector<Example>> render_all(const Renderer& renderer, const std::vector<DataRow>& rows,
                                        std::string_view name) {
  auto result = std::vector<Example>{};
  result.reserve(rows.size());
  for (const auto& row : rows) {
    auto example = renderer.render(row);
    if (!example)
      return fail(example.error().code,
                  fmt::format("{}:{}: {}", name, row.line, example.error().message));
    result.push_back(std::move(*example));
  }
  return result;
}

Result<void> check_lengths(const std::vector<Example>& examples, std::int64_t limit,
                           std::string_view name) {
  for (const auto& example : examples)
    if (static_cast<std::int64_t>(example.tokens()) > limit)
      return fail(Errc::invalid_argument,
                  fmt::format("{}:{}: the row has {} tokens, but the model takes at most {}", name,
                              example.line, example.tokens(), limit));
  return {};
}

} // namespace tinkaf::train
