// SPDX-License-Identifier: Apache-2.0
#include "server/openai/chat_prompt.hpp"

#include <optional>

namespace tinkaf::server::openai {

namespace {

/// How messages are told apart.
struct Form {
  Token before_role = 0;
  std::optional<Token> behind_role; // nothing but a line break if absent
  std::string_view break_behind_role;
  Token end = 0;
  std::string_view break_behind_message;
};

std::optional<Form> form_of(const text::Tokenizer& tokenizer) {
  const auto start = tokenizer.id_of("<|im_start|>");
  const auto end = tokenizer.id_of("<|im_end|>");
  if (start && end)
    return Form{*start, {}, "\n", *end, "\n"};
  const auto header = tokenizer.id_of("<|start_header_id|>");
  const auto header_end = tokenizer.id_of("<|end_header_id|>");
  const auto turn_end = tokenizer.id_of("<|eot_id|>");
  if (header && header_end && turn_end)
    return Form{*header, *header_end, "\n\n", *turn_end, ""};
  return std::nullopt;
}

/// Llama 3 reads texts without the blanks around them.
std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n\f\v";
  const auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

class Strip {
public:
  Strip(const text::Tokenizer& tokenizer, const Form& form) : tokenizer_(tokenizer), form_(form) {}

  void text(std::string_view text) {
    const auto tokens = tokenizer_.encode(text, true);
    out.insert(out.end(), tokens.begin(), tokens.end());
  }

  void head(const std::string& role) {
    out.push_back(form_.before_role);
    if (form_.behind_role) {
      text(role);
      out.push_back(*form_.behind_role);
      text(form_.break_behind_role);
    } else {
      text(role + std::string{form_.break_behind_role});
    }
  }

  std::vector<Token> out;

private:
  const text::Tokenizer& tokenizer_;
  const Form& form_;
};

} // namespace

Result<ChatPrompt> chat_prompt(const text::Tokenizer& tokenizer,
                               std::span<const ChatMessage> messages) {
  const auto form = form_of(tokenizer);
  if (!form)
    return fail(Errc::invalid_argument,
                "messages: the vocabulary of this model has no tokens that tell messages apart; "
                "call completions with a prompt");
  Strip strip{tokenizer, *form};
  if (const auto bos = tokenizer.bos(); bos && bos != tokenizer.eos())
    strip.out.push_back(*bos);
  for (const auto& message : messages) {
    strip.head(message.role);
    strip.text(form->behind_role ? trimmed(message.content) : message.content);
    strip.out.push_back(form->end);
    strip.text(form->break_behind_message);
  }
  strip.head("assistant");
  ChatPrompt out{std::move(strip.out), {form->end}};
  if (const auto eos = tokenizer.eos(); eos && eos != form->end)
    out.ends.push_back(*eos);
  return out;
}

std::vector<Token> text_prompt(const text::Tokenizer& tokenizer, std::string_view text) {
  std::vector<Token> out;
  if (const auto bos = tokenizer.bos(); bos && bos != tokenizer.eos())
    out.push_back(*bos);
  const auto tokens = tokenizer.encode(text, true);
  out.insert(out.end(), tokens.begin(), tokens.end());
  return out;
}

} // namespace tinkaf::server::openai
