// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "text/tokenizer.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// How conversations become text, model by model, and text becomes tokens.

namespace tinkaf::text {

/// One turn of a conversation.
struct ChatMessage {
  /// "system", "user" or "assistant".
  std::string role;

  std::string content;

  friend bool operator==(const ChatMessage&, const ChatMessage&) = default;
};

using Conversation = std::vector<ChatMessage>;

/// The chat format of a family of models, by the name that is stored as `renderer_name`.
enum class ChatTemplate : std::uint8_t {
  /// `<|im_start|>ROLE\nTEXT<|im_end|>\n`: the shipped model, and many others.
  chatml,

  /// Llama 3: `<|start_header_id|>ROLE<|end_header_id|>\n\nTEXT<|eot_id|>` behind a
  /// `<|begin_of_text|>`. Texts are trimmed. No preamble with dates, which later templates add.
  llama3,

  /// Qwen3 that thinks: chatml whose last answer begins with `<think>\n…\n</think>\n\n`; what
  /// earlier answers thought is left out.
  qwen3,

  /// Qwen3 told not to think: the empty thought belongs to the prompt.
  qwen3_disable_thinking,

  /// The Qwen3 models of July 2025 that never think; chatml.
  qwen3_instruct,
};

/// Returns the name, for example "qwen3_disable_thinking".
[[nodiscard]] const char* to_string(ChatTemplate chat) noexcept;

/// Reads a name.
/// @returns `Errc::invalid_argument` with the names that exist
[[nodiscard]] Result<ChatTemplate> parse_chat_template(std::string_view name);

/// The format of a hosted model, by its name with or without an owner.
/// @returns `Errc::not_found` for a model of no family that is known here
[[nodiscard]] Result<ChatTemplate> recommended_chat_template(std::string_view model);

/// The format of that name; without one that of the model, and chatml where it is not known.
/// @returns as `parse_chat_template`
[[nodiscard]] Result<ChatTemplate> choose_chat_template(std::string_view name,
                                                        std::string_view model);

/// The format that belongs to the tokens of a vocabulary.
/// @param model name, which tells those apart whose vocabularies are alike
/// @returns `Errc::invalid_argument` if it has no tokens that tell messages apart
[[nodiscard]] Result<ChatTemplate> chat_template_of(const Tokenizer& tokenizer,
                                                    std::string_view model);

/// Which answers are learned.
enum class TrainOn : std::uint8_t { all_assistant_messages, last_assistant_message };

/// A run of text of one weight.
struct ChatPiece {
  std::string text;

  /// The text is the name of one token, not text to be cut into tokens.
  bool special = false;

  /// 1 for what is learned: an answer, with its thought, and its end.
  float weight = 0.0F;

  friend bool operator==(const ChatPiece&, const ChatPiece&) = default;
};

/// A whole conversation. The texts of its pieces, one behind the other, are what the model's own
/// template makes of it.
[[nodiscard]] std::vector<ChatPiece>
chat_pieces(ChatTemplate chat, const Conversation& conversation,
            TrainOn train_on = TrainOn::all_assistant_messages);

/// A conversation so far and the head of the answer, to be gone on with by the model.
[[nodiscard]] std::vector<ChatPiece> prompt_pieces(ChatTemplate chat,
                                                   const Conversation& conversation);

/// A token of a conversation.
struct ChatToken {
  std::int32_t id = 0;

  /// That of its piece.
  float weight = 0.0F;

  /// One that no text becomes.
  bool special = false;
};

/// Cuts the pieces of a conversation into tokens. What stands in a message never becomes a special
/// one.
/// @returns `Errc::invalid_argument` if the vocabulary lacks a token that is needed
[[nodiscard]] Result<std::vector<ChatToken>>
chat_tokens(const Tokenizer& tokenizer, ChatTemplate chat, const std::vector<ChatPiece>& pieces);

/// The token that begins texts, where the vocabulary has one for that and nothing else.
[[nodiscard]] std::optional<std::int32_t> beginning_of_text(const Tokenizer& tokenizer) noexcept;

/// The name of the token that ends a message.
[[nodiscard]] std::string_view end_of_message(ChatTemplate chat) noexcept;

} // namespace tinkaf::text
