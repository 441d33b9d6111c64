// SPDX-License-Identifier: Apache-2.0
#include "server/openai/answer_json.hpp"

#include "api/wire/json_writer.hpp"
#include "api/wire/utf8.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <utility>

namespace tinkaf::server::openai {

namespace {

using wire::JsonWriter;

/// JSON has no infinity; this is what OpenAI's servers say.
double finite(float logprob) {
  return std::isfinite(logprob) ? static_cast<double>(logprob) : -9999.0;
}

std::optional<double> finite(std::optional<float> logprob) {
  return logprob ? std::optional{finite(*logprob)} : std::nullopt;
}

std::vector<std::int32_t> bytes_of(const std::string& text) {
  std::vector<std::int32_t> out;
  for (const char x : text)
    out.push_back(static_cast<unsigned char>(x));
  return out;
}

/// The name of a token among logprobs; one that is no text by itself is told by its bytes, as
/// OpenAI does, so that no two share a name.
std::string name_of(const std::string& token) {
  if (wire::is_utf8(token))
    return token;
  std::string out = "bytes:";
  for (const char x : token)
    out += fmt::format("\\x{:02x}", static_cast<unsigned char>(x));
  return out;
}

const char* finish_reason(StopReason reason) {
  return reason == StopReason::stop ? "stop" : "length";
}

// The parts of an answer as JSON; `describe` is found by the writer.

struct Likely {
  const std::pair<std::string, float>& token;
};

struct ChatToken {
  const Piece& piece;
};

struct Usage {
  const Answer& answer;
};

/// Tokens with their logprobs in the form of the call.
struct Logprobs {
  bool chat = false;
  std::span<const Piece> pieces;
  std::size_t offset = 0; // of the first one in the text of its choice, in bytes
};

struct Delta {
  std::optional<std::string> role;
  std::optional<std::string> content;
};

struct Message {
  std::string content;
};

/// A choice, whole or a part of it.
struct ChoiceBody {
  const Answer& answer;
  std::size_t index = 0;
  std::string text;
  std::optional<Logprobs> logprobs;
  std::optional<std::string> reason;
  std::optional<Delta> delta; // in events of a chat
};

struct Body {
  const Answer& answer;
  const char* object = "";
  std::vector<ChoiceBody> choices;
  bool usage = false;
};

void describe(JsonWriter& v, const Likely& x) {
  v.field("token", x.token.first);
  v.field("logprob", finite(x.token.second));
  v.field("bytes", bytes_of(x.token.first));
}

void describe(JsonWriter& v, const ChatToken& x) {
  v.field("token", x.piece.text);
  v.field("logprob", finite(x.piece.logprob));
  v.field("bytes", bytes_of(x.piece.text));
  std::vector<Likely> top;
  for (const auto& token : x.piece.top)
    top.push_back({token});
  v.field("top_logprobs", top);
}

void describe(JsonWriter& v, const Logprobs& x) {
  if (x.chat) {
    std::vector<ChatToken> tokens;
    for (const auto& piece : x.pieces)
      tokens.push_back({piece});
    v.field("content", tokens);
    v.field("refusal", std::optional<std::string>{});
    return;
  }
  std::vector<std::string> tokens;
  std::vector<std::optional<double>> logprobs;
  std::vector<std::optional<std::map<std::string, double>>> top;
  std::vector<std::int64_t> offsets;
  auto offset = x.offset;
  for (const auto& piece : x.pieces) {
    tokens.push_back(name_of(piece.text));
    logprobs.push_back(finite(piece.logprob));
    auto& likely = top.emplace_back();
    for (const auto& [text, logprob] : piece.top) {
      if (!likely)
        likely.emplace();
      likely->emplace(name_of(text), finite(logprob)); // of equal texts the likelier
    }
    offsets.push_back(static_cast<std::int64_t>(offset));
    offset += piece.text.size();
  }
  v.field("tokens", tokens);
  v.field("token_logprobs", logprobs);
  v.field("top_logprobs", top);
  v.field("text_offset", offsets);
}

void describe(JsonWriter& v, const Delta& x) {
  v.optional("role", x.role);
  v.optional("content", x.content);
}

void describe(JsonWriter& v, const Message& x) {
  v.literal("role", "assistant");
  v.field("content", x.content);
}

void describe(JsonWriter& v, const ChoiceBody& x) {
  v.field("index", static_cast<std::int64_t>(x.index));
  if (x.delta)
    v.field("delta", *x.delta);
  else if (x.answer.chat)
    v.field("message", Message{x.text});
  else
    v.field("text", x.text);
  v.field("logprobs", x.logprobs);
  v.field("finish_reason", x.reason);
}

void describe(JsonWriter& v, const Usage& x) {
  v.field("prompt_tokens", x.answer.prompt_tokens);
  v.field("completion_tokens", x.answer.completion_tokens);
  v.field("total_tokens", x.answer.prompt_tokens + x.answer.completion_tokens);
}

void describe(JsonWriter& v, const Body& x) {
  v.field("id", x.answer.id);
  v.literal("object", x.object);
  v.field("created", static_cast<std::int64_t>(x.answer.created.count()));
  v.field("model", x.answer.model);
  v.field("choices", x.choices);
  if (x.usage)
    v.field("usage", Usage{x.answer});
}

std::optional<Logprobs> logprobs_of(const Answer& answer, std::span<const Piece> pieces,
                                    std::size_t offset = 0) {
  return answer.logprobs ? std::optional{Logprobs{answer.chat, pieces, offset}} : std::nullopt;
}

const char* event_object(const Answer& answer) {
  return answer.chat ? "chat.completion.chunk" : "text_completion";
}

} // namespace

std::string whole_json(const Answer& answer) {
  Body body{.answer = answer,
            .object = answer.chat ? "chat.completion" : "text_completion",
            .choices = {},
            .usage = true};
  for (std::size_t i = 0; i < answer.choices.size(); ++i) {
    const auto& choice = answer.choices[i];
    body.choices.push_back({answer,
                            i,
                            choice.text(),
                            logprobs_of(answer, choice.pieces),
                            finish_reason(choice.reason),
                            {}});
  }
  return wire::write_json(body);
}

std::string part_json(const Answer& answer, const Part& part) {
  ChoiceBody choice{.answer = answer, .index = part.choice};
  std::string text;
  for (const auto& piece : part.pieces)
    text += piece.text;
  if (!part.pieces.empty())
    choice.logprobs = logprobs_of(answer, part.pieces, part.offset);
  if (part.reason)
    choice.reason = finish_reason(*part.reason);
  if (!answer.chat)
    choice.text = std::move(text);
  else if (part.begins)
    choice.delta = Delta{"assistant", ""};
  else if (part.reason)
    choice.delta = Delta{};
  else
    choice.delta = Delta{{}, std::move(text)};
  return wire::write_json(
      Body{.answer = answer, .object = event_object(answer), .choices = {std::move(choice)}});
}

std::string usage_json(const Answer& answer) {
  return wire::write_json(
      Body{.answer = answer, .object = event_object(answer), .choices = {}, .usage = true});
}

} // namespace tinkaf::server::openai
