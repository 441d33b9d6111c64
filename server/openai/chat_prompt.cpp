// SPDX-License-Identifier: Apache-2.0
#include "server/openai/chat_prompt.hpp"

namespace tinkaf::server::openai {

Result<ChatPrompt> chat_prompt(const text::Tokenizer& tokenizer, std::string_view model,
                               const Conversation& messages) {
  const auto chat = text::chat_template_of(tokenizer, model);
  if (!chat)
    return fail(Errc::invalid_argument,
                "messages: " + chat.error().message + "; call completions with a prompt");
  const auto tokens = chat_tokens(tokenizer, *chat, prompt_pieces(*chat, messages));
  if (!tokens)
    return fail(tokens.error());
  ChatPrompt out;
  for (const auto& token : *tokens)
    out.tokens.push_back(token.id);
  out.ends.push_back(*tokenizer.id_of(end_of_message(*chat)));
  if (const auto eos = tokenizer.eos(); eos && eos != out.ends.front())
    out.ends.push_back(*eos);
  return out;
}

std::vector<Token> text_prompt(const text::Tokenizer& tokenizer, std::string_view text) {
  std::vector<Token> out;
  if (const auto bos = text::beginning_of_text(tokenizer))
    out.push_back(*bos);
  const auto tokens = tokenizer.encode(text, true);
  out.insert(out.end(), tokens.begin(), tokens.end());
  return out;
}

} // namespace tinkaf::server::openai
