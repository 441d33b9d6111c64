// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/datum.hpp"
#include "text/chat_template.hpp"
#include "text/tokenizer.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "train/data_row.hpp"

namespace tinkaf::train {

using text::ChatTemplate;
using text::TrainOn;

/// A row as the service takes it.
struct Example {
  /// `target_tokens` and `weights`, both of shape [tokens]: each position is trained to predict
  /// the token after it, where its weight is 1.
  Datum datum;

  /// Bytes of text that each target token stands for; 0 for special tokens. Shape: [tokens].
  std::vector<std::int32_t> target_bytes;

  /// Line of the data file.
  std::size_t line = 0;

  /// Number of positions.
  [[nodiscard]] std::size_t tokens() const noexcept {
    return target_bytes.size();
  }
};

/// Turns rows into tokens. Loss falls on what the model is to say: a completion and its end, or
/// the messages of the assistant.
///
/// Text of the data never becomes a special token. Cheap to copy; any number of threads may share
/// one.
class Renderer {
public:
  /// @param chat how the model's conversations look
  explicit Renderer(text::Tokenizer tokenizer, ChatTemplate chat = ChatTemplate::chatml,
                    TrainOn train_on = TrainOn::all_assistant_messages);

  /// Renders any row.
  /// @returns `Errc::invalid_argument` if the tokenizer lacks a token that the row needs, or the
  ///          row is too short to learn from
  [[nodiscard]] Result<Example> render(const DataRow& row) const;

  /// What the model reads before it goes on from `prompt`, exactly as in training.
  [[nodiscard]] std::vector<Token> prompt(std::string_view text) const;

  /// The conversation so far and the head of the assistant's next message.
  /// @returns as `render`
  [[nodiscard]] Result<std::vector<Token>> prompt(const Conversation& conversation) const;

  /// Tokens that end an answer: of a completion, and of a chat message.
  [[nodiscard]] std::vector<Token> stop_tokens() const;

  [[nodiscard]] const text::Tokenizer& tokenizer() const noexcept {
    return tokenizer_;
  }

private:
  text::Tokenizer tokenizer_;
  ChatTemplate chat_;
  TrainOn train_on_;
};

/// Renders all rows.
/// @param name of the file, for errors: `name:line: reason`
[[nodiscard]] Result<std::vector<Example>>
render_all(const Renderer& renderer, const std::vector<DataRow>& rows, std::string_view name);

/// Checks that every example fits into a model.
/// @param limit most tokens of a sequence
/// @returns `Errc::invalid_argument` naming file, line, length and limit
[[nodiscard]] Result<void> check_lengths(const std::vector<Example>& examples, std::int64_t limit,
                                         std::string_view name);

} // namespace tinkaf::train
