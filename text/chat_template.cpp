// SPDX-License-Identifier: Apache-2.0
#include "text/chat_template.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace tinkaf::text {

namespace {

constexpr std::string_view think_start = "<think>";
constexpr std::string_view think_end = "</think>";
constexpr std::string_view newline = "\n";

constexpr std::array all_templates{ChatTemplate::chatml, ChatTemplate::llama3, ChatTemplate::qwen3,
                                   ChatTemplate::qwen3_disable_thinking,
                                   ChatTemplate::qwen3_instruct};

std::string_view strip_left(std::string_view text, std::string_view what) {
  const auto first = text.find_first_not_of(what);
  return first == std::string_view::npos ? std::string_view{} : text.substr(first);
}

std::string_view strip_right(std::string_view text, std::string_view what) {
  return text.substr(0, text.find_last_not_of(what) + 1);
}

std::string_view strip(std::string_view text, std::string_view what) {
  return strip_left(strip_right(text, what), what);
}

/// An answer, and what was thought before it.
struct Answer {
  std::string_view thought;
  std::string_view text;
};

Answer split_answer(std::string_view content) {
  const auto first_end = content.find(think_end);
  if (first_end == std::string_view::npos)
    return {{}, content};
  auto thought = strip_right(content.substr(0, first_end), newline);
  if (const auto start = thought.rfind(think_start); start != std::string_view::npos)
    thought.remove_prefix(start + think_start.size());
  const auto last_end = content.rfind(think_end);
  return {strip(thought, newline),
          strip_left(content.substr(last_end + think_end.size()), newline)};
}

bool thinks(ChatTemplate chat) {
  return chat == ChatTemplate::qwen3 || chat == ChatTemplate::qwen3_disable_thinking;
}

/// Writes the pieces of one conversation.
class Writer {
public:
  explicit Writer(ChatTemplate chat) : chat_(chat) {
    if (chat == ChatTemplate::llama3)
      special("<|begin_of_text|>", 0);
  }

  void head(std::string_view role) {
    if (chat_ == ChatTemplate::llama3) {
      special("<|start_header_id|>", 0);
      text(role, 0);
      special("<|end_header_id|>", 0);
      text("\n\n", 0);
    } else {
      special("<|im_start|>", 0);
      text(role, 0);
      text(newline, 0);
    }
    // The shipped model has learned heads and messages cut into tokens one by one.
    joins_ = chat_ != ChatTemplate::chatml;
  }

  void end(float weight) {
    special(end_of_message(chat_), weight);
    if (chat_ != ChatTemplate::llama3)
      text(newline, 0);
  }

  void thought(std::string_view thought, float weight) {
    special(think_start, weight);
    text(newline, weight);
    text(thought, weight);
    text("\n", weight);
    special(think_end, weight);
    text("\n\n", weight);
  }

  /// Text of one weight becomes one piece, so that it is cut into tokens as a whole.
  void text(std::string_view text, float weight) {
    if (text.empty())
      return;
    const auto joins = std::exchange(joins_, true);
    if (joins && !pieces_.empty() && !pieces_.back().special && pieces_.back().weight == weight)
      pieces_.back().text += text;
    else
      pieces_.push_back({std::string{text}, false, weight});
  }

  void special(std::string_view name, float weight) {
    pieces_.push_back({std::string{name}, true, weight});
  }

  [[nodiscard]] std::vector<ChatPiece> take() {
    return std::move(pieces_);
  }

private:
  ChatTemplate chat_;
  std::vector<ChatPiece> pieces_;

  /// Whether the next text may become one with that before it.
  bool joins_ = true;
};

/// Place of the last message of a role; the number of messages if there is none.
std::size_t last_of(const Conversation& conversation, std::string_view role) {
  for (auto at = conversation.size(); at > 0; --at)
    if (conversation[at - 1].role == role)
      return at - 1;
  return conversation.size();
}

/// An answer of a model that may think, as its template writes it.
void write_thinking_answer(Writer& writer, ChatTemplate chat, std::string_view content,
                           bool is_last, bool is_current, float weight) {
  const auto answer = split_answer(content);
  if (!is_current || (!is_last && answer.thought.empty())) {
    writer.text(answer.text, weight);
    return;
  }
  // One who is told not to think finds the empty thought in the prompt.
  const auto given = chat == ChatTemplate::qwen3_disable_thinking && answer.thought.empty();
  writer.thought(answer.thought, given ? 0.0F : weight);
  writer.text(strip_left(answer.text, newline), weight);
}

void write_messages(Writer& writer, ChatTemplate chat, const Conversation& conversation,
                    TrainOn train_on) {
  const auto last_question = last_of(conversation, "user");
  const auto last_answer = last_of(conversation, "assistant");
  for (std::size_t at = 0; at < conversation.size(); ++at) {
    const auto& message = conversation[at];
    const auto is_answer = message.role == "assistant";
    const auto learned
        = is_answer && (train_on == TrainOn::all_assistant_messages || at == last_answer);
    const auto weight = learned ? 1.0F : 0.0F;
    writer.head(message.role);
    if (chat == ChatTemplate::llama3)
      writer.text(strip(message.content, " \t\r\n\v\f"), weight);
    else if (is_answer && thinks(chat))
      write_thinking_answer(writer, chat, message.content, at + 1 == conversation.size(),
                            last_question < at, weight);
    else
      writer.text(message.content, weight);
    writer.end(weight);
  }
}

} // namespace

const char* to_string(ChatTemplate chat) noexcept {
  switch (chat) {
  case ChatTemplate::chatml:
    return "chatml";
  case ChatTemplate::llama3:
    return "llama3";
  case ChatTemplate::qwen3:
    return "qwen3";
  case ChatTemplate::qwen3_disable_thinking:
    return "qwen3_disable_thinking";
  case ChatTemplate::qwen3_instruct:
    return "qwen3_instruct";
  }
  return "unknown";
}

Result<ChatTemplate> parse_chat_template(std::string_view name) {
  for (const auto chat : all_templates)
    if (name == to_string(chat))
      return chat;
  return fail(Errc::invalid_argument,
              fmt::format("chat template must be chatml, llama3, qwen3, qwen3_disable_thinking or "
                          "qwen3_instruct, but is \"{}\"",
                          name));
}

Result<ChatTemplate> recommended_chat_template(std::string_view model) {
  const auto slash = model.rfind('/');
  const auto name = slash == std::string_view::npos ? model : model.substr(slash + 1);
  if (model == "tinkaf/tiny")
    return ChatTemplate::chatml;
  if (name.starts_with("Llama-3") || name.starts_with("Meta-Llama-3"))
    return ChatTemplate::llama3;
  if (name.starts_with("Qwen3-") && name.find("-Instruct-2507") != std::string_view::npos)
    return ChatTemplate::qwen3_instruct;
  if (name.starts_with("Qwen3-") && !name.starts_with("Qwen3-VL"))
    return ChatTemplate::qwen3;
  return fail(Errc::not_found,
              fmt::format("the chat template of model `{}` is not known here; name one", model));
}

Result<ChatTemplate> choose_chat_template(std::string_view name, std::string_view model) {
  if (!name.empty())
    return parse_chat_template(name);
  return recommended_chat_template(model).value_or(ChatTemplate::chatml);
}

Result<ChatTemplate> chat_template_of(const Tokenizer& tokenizer, std::string_view model) {
  const auto knows
      = [&tokenizer](std::string_view token) { return tokenizer.id_of(token).has_value(); };
  if (knows("<|im_start|>") && knows("<|im_end|>")) {
    if (!knows(think_start) || !knows(think_end))
      return ChatTemplate::chatml;
    const auto family = recommended_chat_template(model);
    return family == ChatTemplate::qwen3_instruct ? *family : ChatTemplate::qwen3;
  }
  if (knows("<|start_header_id|>") && knows("<|end_header_id|>") && knows("<|eot_id|>"))
    return ChatTemplate::llama3;
  return fail(Errc::invalid_argument,
              "the vocabulary of this model has no tokens that tell messages apart");
}

std::string_view end_of_message(ChatTemplate chat) noexcept {
  return chat == ChatTemplate::llama3 ? "<|eot_id|>" : "<|im_end|>";
}

std::vector<ChatPiece> chat_pieces(ChatTemplate chat, const Conversation& conversation,
                                   TrainOn train_on) {
  Writer writer{chat};
  write_messages(writer, chat, conversation, train_on);
  return writer.take();
}

std::vector<ChatPiece> prompt_pieces(ChatTemplate chat, const Conversation& conversation) {
  Writer writer{chat};
  write_messages(writer, chat, conversation, TrainOn::all_assistant_messages);
  writer.head("assistant");
  if (chat == ChatTemplate::qwen3_disable_thinking)
    writer.thought({}, 0);
  auto pieces = writer.take();
  for (auto& piece : pieces)
    piece.weight = 0.0F;
  return pieces;
}

std::optional<std::int32_t> beginning_of_text(const Tokenizer& tokenizer) noexcept {
  const auto bos = tokenizer.bos();
  return bos == tokenizer.eos() ? std::nullopt : bos;
}

Result<std::vector<ChatToken>> chat_tokens(const Tokenizer& tokenizer, ChatTemplate chat,
                                           const std::vector<ChatPiece>& pieces) {
  std::vector<ChatToken> out;
  if (chat == ChatTemplate::chatml) // the others say themselves how they begin
    if (const auto bos = beginning_of_text(tokenizer))
      out.push_back({*bos, 0.0F, true});
  for (const auto& piece : pieces) {
    const auto token = piece.special ? tokenizer.id_of(piece.text) : std::nullopt;
    if (token)
      out.push_back({*token, piece.weight, true});
    else if (piece.special && piece.text.starts_with("<|"))
      return fail(Errc::invalid_argument,
                  fmt::format("chat messages need the token {}, which this model's tokenizer lacks",
                              piece.text));
    else // tags of thoughts are text where they are no tokens
      for (const auto id : tokenizer.encode(piece.text, true))
        out.push_back({id, piece.weight, false});
  }
  return out;
}

} // namespace tinkaf::text
