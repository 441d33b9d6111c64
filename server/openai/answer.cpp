// SPDX-License-Identifier: Apache-2.0
#include "server/openai/answer.hpp"

#include "api/wire/json_reader.hpp"
#include "api/wire/json_writer.hpp"
#include "api/wire/utf8.hpp"
#include "server/replies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

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

/// How much of a text ends between two characters.
std::size_t whole_characters(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(text.size(), 3); ++back) {
    const auto x = static_cast<unsigned char>(text[text.size() - back]);
    if ((x & 0xC0U) == 0x80U)
      continue;
    const std::size_t wanted = x >= 0xF0U ? 4 : x >= 0xE0U ? 3 : x >= 0xC0U ? 2 : 1;
    return wanted > back ? text.size() - back : text.size();
  }
  return text.size();
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

/// Writes the events of one answer.
class Events {
public:
  explicit Events(const Answer& answer) : answer_(answer) {}

  void choice(std::size_t index) {
    const auto& choice = answer_.choices[index];
    if (answer_.chat)
      part(index, {}, {}, Delta{"assistant", ""});
    std::string pending;
    std::size_t first = 0;
    std::size_t offset = 0;
    for (std::size_t i = 0; i < choice.pieces.size(); ++i) {
      pending += choice.pieces[i].text;
      const bool last = i + 1 == choice.pieces.size();
      if (!last && whole_characters(pending) < pending.size())
        continue;
      const std::span pieces{choice.pieces.data() + first, i + 1 - first};
      auto logprobs = logprobs_of(answer_, pieces, offset);
      offset += pending.size();
      first = i + 1;
      auto text = std::exchange(pending, {});
      if (answer_.chat)
        part(index, {}, std::move(logprobs), Delta{{}, std::move(text)});
      else
        part(index, std::move(text), std::move(logprobs), {});
    }
    part(index, {}, {}, answer_.chat ? std::optional{Delta{}} : std::nullopt,
         finish_reason(choice.reason));
  }

  void usage() {
    write({.answer = answer_, .object = object(), .choices = {}, .usage = true});
  }

  [[nodiscard]] std::string finish() {
    return std::move(text_) + "data: [DONE]\n\n";
  }

private:
  [[nodiscard]] const char* object() const {
    return answer_.chat ? "chat.completion.chunk" : "text_completion";
  }

  void part(std::size_t index, std::string text, std::optional<Logprobs> logprobs,
            std::optional<Delta> delta, std::optional<std::string> reason = {}) {
    Body body{.answer = answer_, .object = object()};
    body.choices.push_back({answer_, index, std::move(text), std::move(logprobs), std::move(reason),
                            std::move(delta)});
    write(body);
  }

  void write(const Body& body) {
    text_ += "data: " + wire::write_json(body) + "\n\n";
  }

  const Answer& answer_;
  std::string text_;
};

struct ErrorBody {
  std::string_view message;
  int status = 0;
};

void describe(JsonWriter& v, const ErrorBody& x) {
  v.object("error", [&x](JsonWriter& inner) {
    inner.field("message", std::string{x.message});
    inner.literal("type", x.status == 401 || x.status == 403 ? "authentication_error"
                          : x.status == 429                  ? "rate_limit_error"
                          : x.status < 500                   ? "invalid_request_error"
                                                             : "server_error");
    inner.field("param", std::optional<std::string>{});
    inner.field("code", std::optional<std::string>{});
  });
}

} // namespace

std::string Choice::text() const {
  std::string out;
  for (const auto& piece : pieces)
    out += piece.text;
  return out;
}

std::vector<Piece> make_pieces(const text::Tokenizer& tokenizer, const std::vector<Token>& tokens,
                               const Details& details) {
  std::vector<Piece> out;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    auto& piece = out.emplace_back();
    piece.text = tokenizer.token_bytes(tokens[i]);
    if (i < details.logprobs.size())
      piece.logprob = details.logprobs[i];
    if (i < details.top.size() && details.top[i])
      for (const auto& [token, logprob] : *details.top[i])
        piece.top.emplace_back(tokenizer.token_bytes(token), logprob);
  }
  return out;
}

Choice make_choice(const text::Tokenizer& tokenizer, const SampledSequence& sequence,
                   const Details& details, const std::vector<Token>& ends,
                   const std::vector<std::string>& stop) {
  auto tokens = sequence.tokens;
  if (sequence.stop_reason == StopReason::stop && !tokens.empty()
      && std::find(ends.begin(), ends.end(), tokens.back()) != ends.end())
    tokens.pop_back();
  Choice out{make_pieces(tokenizer, tokens, details), sequence.stop_reason};
  const auto text = out.text();
  auto cut = std::string::npos;
  for (const auto& x : stop)
    cut = std::min(cut, text.find(x));
  std::size_t begin = 0;
  for (std::size_t i = 0; i < out.pieces.size() && cut != std::string::npos; ++i) {
    auto& piece = out.pieces[i];
    const auto end = begin + piece.text.size();
    if (end >= cut) {
      piece.text.resize(cut - begin);
      out.pieces.resize(piece.text.empty() ? i : i + 1);
      break;
    }
    begin = end;
  }
  return out;
}

HttpReply json_reply(const Answer& answer) {
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
  return HttpReply::json(200, wire::write_json(body));
}

HttpReply event_reply(const Answer& answer, bool with_usage) {
  Events events{answer};
  for (std::size_t i = 0; i < answer.choices.size(); ++i)
    events.choice(i);
  if (with_usage)
    events.usage();
  auto reply = HttpReply::json(200, events.finish());
  reply.content_type = "text/event-stream; charset=utf-8";
  reply.headers.emplace_back("cache-control", "no-cache");
  return reply;
}

HttpReply error_reply(int status, std::string_view message) {
  return in_openai_form(server::error_reply(status, message));
}

HttpReply error_reply(const Error& error) {
  return in_openai_form(server::error_reply(error));
}

HttpReply in_openai_form(HttpReply reply) {
  if (!reply.body)
    return reply;
  const auto body = wire::parse_json(*reply.body, "error", Errc::internal);
  const auto* detail = body && body->IsObject() ? wire::find_member(*body, "detail") : nullptr;
  if (detail == nullptr || !detail->IsString())
    return reply;
  reply.body = std::make_shared<const std::string>(
      wire::write_json(ErrorBody{wire::text_of(*detail), reply.status}));
  return reply;
}

} // namespace tinkaf::server::openai
