// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "messages/sampling.hpp"
#include "text/chat_template.hpp"
#include "text/tokenizer.hpp"

#include <string_view>
#include <vector>

namespace tinkaf::server::openai {

using text::ChatMessage;
using text::Conversation;

/// A conversation as a model reads it.
struct ChatPrompt {
  /// With the head of the message that the assistant is to write.
  std::vector<Token> tokens;

  /// Any of these ends that message.
  std::vector<Token> ends;
};

/// Writes a conversation in the form that belongs to the tokens of a vocabulary
/// (`text::chat_template_of`). What stands in a message never becomes one of these tokens.
/// @param model name of the base
/// @returns `Errc::invalid_argument` if the vocabulary has no such tokens
[[nodiscard]] Result<ChatPrompt> chat_prompt(const text::Tokenizer& tokenizer,
                                             std::string_view model, const Conversation& messages);

/// A text with the token that begins texts, where the vocabulary has one for that and nothing else.
[[nodiscard]] std::vector<Token> text_prompt(const text::Tokenizer& tokenizer,
                                             std::string_view text);

} // namespace tinkaf::server::openai
