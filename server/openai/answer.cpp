// SPDX-License-Identifier: Apache-2.0
#include "server/openai/answer.hpp"

#include "api/wire/json_reader.hpp"
#include "api/wire/json_writer.hpp"
#include "server/openai/answer_json.hpp"
#include "server/replies.hpp"

#include <algorithm>
#include <utility>

namespace tinkaf::server::openai {

namespace {

struct ErrorBody {
  std::string_view message;
  int status = 0;
};

void describe(wire::JsonWriter& v, const ErrorBody& x) {
  v.object("error", [&x](wire::JsonWriter& inner) {
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
  return HttpReply::json(200, whole_json(answer));
}

HttpReply event_reply(std::shared_ptr<BodyStream> events) {
  HttpReply reply;
  reply.content_type = "text/event-stream; charset=utf-8";
  reply.headers.emplace_back("cache-control", "no-cache");
  reply.stream = std::move(events);
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
