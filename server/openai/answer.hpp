// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/sampling.hpp"
#include "server/http/http_exchange.hpp"
#include "text/tokenizer.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tinkaf::server::openai {

/// A token of an answer as text, which may be a part of a character.
struct Piece {
  std::string text;

  /// In nats; absent for the first token of a prompt.
  std::optional<float> logprob;

  /// The likeliest tokens at its place.
  std::vector<std::pair<std::string, float>> top;
};

/// One of the continuations that were asked for.
struct Choice {
  std::vector<Piece> pieces;

  /// Why it ends.
  StopReason reason = StopReason::length;

  /// The text, which is that of the pieces.
  [[nodiscard]] std::string text() const;
};

/// What is known of the tokens of a continuation, each list with one entry a token.
struct Details {
  std::vector<std::optional<float>> logprobs;

  /// Empty if nobody asked for it.
  std::vector<std::optional<std::vector<TokenLogprob>>> top;
};

/// Turns tokens to text and cuts it before the first stop text or stop token.
/// @param ends tokens that are no part of the text where they end it
[[nodiscard]] Choice make_choice(const text::Tokenizer& tokenizer, const SampledSequence& sequence,
                                 const Details& details, const std::vector<Token>& ends,
                                 const std::vector<std::string>& stop);

/// The tokens of a prompt as the beginning of an answer.
[[nodiscard]] std::vector<Piece> make_pieces(const text::Tokenizer& tokenizer,
                                             const std::vector<Token>& tokens,
                                             const Details& details);

/// Everything that an answer says.
struct Answer {
  bool chat = false;
  std::string id;
  std::string model;
  std::chrono::seconds created{0};
  std::vector<Choice> choices;
  bool logprobs = false;
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;
};

/// As one JSON object.
[[nodiscard]] HttpReply json_reply(const Answer& answer);

/// As server-sent events, which come as they are written.
[[nodiscard]] HttpReply event_reply(std::shared_ptr<BodyStream> events);

/// An error in OpenAI's form: `{"error": {"message", "type", "param", "code"}}`.
[[nodiscard]] HttpReply error_reply(int status, std::string_view message);
[[nodiscard]] HttpReply error_reply(const Error& error);

/// An error of this server, `{"detail": …}`, in OpenAI's form.
[[nodiscard]] HttpReply in_openai_form(HttpReply reply);

} // namespace tinkaf::server::openai
