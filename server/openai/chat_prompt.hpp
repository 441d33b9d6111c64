// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "messages/sampling.hpp"
#include "text/tokenizer.hpp"

#include <span>
#include <string>
#include <vector>

namespace tinkaf::server::openai {

struct ChatMessage {
  std::string role;
  std::string content;
};

/// A conversation as a model reads it.
struct ChatPrompt {
  /// With the head of the message that the assistant is to write.
  std::vector<Token> tokens;

  /// Any of these ends that message.
  std::vector<Token> ends;
};

/// Writes a conversation in the form that belongs to the tokens of a vocabulary: `<|im_start|>` and
/// `<|im_end|>` (ChatML, the form of the shipped model and of Qwen), or `<|start_header_id|>`,
/// `<|end_header_id|>` and `<|eot_id|>` (Llama 3). What stands in a message never becomes one of
/// these tokens.
/// @returns `Errc::invalid_argument` if the vocabulary has the tokens of neither
[[nodiscard]] Result<ChatPrompt> chat_prompt(const text::Tokenizer& tokenizer,
                                             std::span<const ChatMessage> messages);

/// A text with the token that begins texts, where the vocabulary has one for that and nothing else.
[[nodiscard]] std::vector<Token> text_prompt(const text::Tokenizer& tokenizer,
                                             std::string_view text);

} // namespace tinkaf::server::openai
