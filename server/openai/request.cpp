// SPDX-License-Identifier: Apache-2.0
#include "server/openai/request.hpp"

#include "api/wire/json_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tinkaf::server::openai {

namespace {

using wire::JsonReader;

constexpr std::int32_t most_choices = 128;
constexpr std::int32_t most_top_logprobs = 20;

/// Notes at a field why it is refused.
void refuse(JsonReader& v, std::string_view name, std::string_view what) {
  if (const auto* found = v.member(name))
    v.within(name, *found, [&] { v.refuse(what); });
}

/// Refuses what would have an effect that this server does not bring about. Fields that are empty,
/// zero or false ask for nothing.
void refuse_unknown(JsonReader& v, std::initializer_list<std::string_view> names) {
  for (const auto name : names) {
    const auto* found = v.member(name);
    if (found == nullptr || found->IsFalse() || (found->IsNumber() && found->GetDouble() == 0.0)
        || (found->IsArray() && found->Empty()) || (found->IsObject() && found->ObjectEmpty())
        || (found->IsString() && found->GetStringLength() == 0))
      continue;
    refuse(v, name, "is not supported by this server");
  }
}

template <class T>
void within(JsonReader& v, std::string_view name, const T& x, T least, T most) {
  if (!(x >= least && x <= most))
    refuse(v, name, fmt::format("must be in [{}, {}], but is {}", least, most, x));
}

void read_stop(JsonReader& v, std::vector<std::string>& stop) {
  const auto* found = v.member("stop");
  if (found == nullptr)
    return;
  if (found->IsString())
    v.field("stop", stop.emplace_back());
  else
    v.field("stop", stop);
  if (std::find(stop.begin(), stop.end(), "") != stop.end())
    refuse(v, "stop", "must not hold an empty text");
}

/// What both calls have; logprobs differ.
void read_wishes(JsonReader& v, Wishes& x) {
  v.field("model", x.model);
  v.defaulted("n", x.n);
  within(v, "n", x.n, 1, most_choices);
  v.optional("max_tokens", x.max_tokens);
  if (x.max_tokens && *x.max_tokens < 0)
    refuse(v, "max_tokens", fmt::format("must be at least 0, but is {}", *x.max_tokens));
  v.defaulted("temperature", x.temperature);
  within(v, "temperature", x.temperature, 0.0, 1e6);
  v.defaulted("top_p", x.top_p);
  if (!(x.top_p > 0.0 && x.top_p <= 1.0))
    refuse(v, "top_p", fmt::format("must be in (0, 1], but is {}", x.top_p));
  v.optional("seed", x.seed);
  read_stop(v, x.stop);
  v.defaulted("stream", x.stream);
  if (const auto* options = v.member("stream_options"); options != nullptr && options->IsObject())
    v.object("stream_options",
             [&](JsonReader& inner) { inner.defaulted("include_usage", x.usage_in_stream); });
  refuse_unknown(v, {"frequency_penalty", "presence_penalty", "logit_bias", "suffix"});
}

/// Token ids as they are, else text.
void read_prompt(JsonReader& v, Prompt& x) {
  const auto& found = v.current();
  if (found.IsString())
    v.value(x.emplace<std::string>());
  else if (found.IsArray() && !found.Empty() && found[0].IsNumber())
    v.value(x.emplace<std::vector<Token>>());
  else
    v.expected("a text or an array of tokens");
}

void read_prompts(JsonReader& v, std::vector<Prompt>& x) {
  const auto* found = v.member("prompt");
  if (found == nullptr)
    return v.miss("prompt");
  v.within("prompt", *found, [&] {
    if (!found->IsArray() || (!found->Empty() && (*found)[0].IsNumber()))
      return read_prompt(v, x.emplace_back());
    if (found->Empty())
      return v.refuse("must not be empty");
    for (rapidjson::SizeType i = 0; i < found->Size(); ++i)
      v.at(*found, i, [&] { read_prompt(v, x.emplace_back()); });
  });
}

/// A text, or parts that are texts.
void read_content(JsonReader& v, std::string& out) {
  const auto* found = v.member("content");
  if (found == nullptr || !found->IsArray())
    return v.field("content", out);
  v.within("content", *found, [&] {
    for (rapidjson::SizeType i = 0; i < found->Size(); ++i)
      v.at(*found, i, [&] {
        if (!v.current().IsObject())
          return v.expected("an object");
        v.literal("type", "text");
        std::string text;
        v.field("text", text);
        out += text;
      });
  });
}

void read_messages(JsonReader& v, std::vector<ChatMessage>& x) {
  static constexpr std::array roles{"system", "developer", "user", "assistant"};
  const auto* found = v.member("messages");
  if (found == nullptr)
    return v.miss("messages");
  v.within("messages", *found, [&] {
    if (!found->IsArray())
      return v.expected("an array");
    if (found->Empty())
      return v.refuse("must not be empty");
    for (rapidjson::SizeType i = 0; i < found->Size(); ++i)
      v.at(*found, i, [&] {
        if (!v.current().IsObject())
          return v.expected("an object");
        auto& message = x.emplace_back();
        v.field("role", message.role);
        if (std::find(roles.begin(), roles.end(), message.role) == roles.end())
          refuse(v, "role",
                 fmt::format("must be system, developer, user or assistant, but is `{}`",
                             message.role));
        read_content(v, message.content);
        refuse_unknown(v, {"tool_calls", "function_call", "audio"});
      });
  });
}

/// Refuses more of the likeliest tokens than there are told.
void check_top(JsonReader& v, std::string_view name, const std::optional<std::int32_t>& count) {
  if (count)
    within(v, name, *count, 0, most_top_logprobs);
}

/// Parses a body and reads it with `read(reader, out)`.
template <class T, class Read>
Result<T> read_body(std::string_view json, std::string_view what, Read read) {
  const auto body = wire::parse_json(json, what, Errc::invalid_argument);
  if (!body)
    return fail(body.error());
  if (!body->IsObject())
    return fail(Errc::invalid_argument, fmt::format("{}: must be an object", what));
  JsonReader reader{*body};
  T out;
  read(reader, out);
  if (reader.error())
    return fail(Errc::invalid_argument, fmt::format("{}: {}", what, *reader.error()));
  return out;
}

} // namespace

Result<CompletionRequest> read_completion(std::string_view json) {
  return read_body<CompletionRequest>(
      json, "completions request", [](JsonReader& v, CompletionRequest& x) {
        read_wishes(v, x.wishes);
        read_prompts(v, x.prompts);
        v.defaulted("echo", x.echo);
        v.optional("logprobs", x.wishes.logprobs);
        check_top(v, "logprobs", x.wishes.logprobs);
        if (const auto* best = v.member("best_of");
            best != nullptr && best->IsInt() && best->GetInt() > x.wishes.n)
          refuse(v, "best_of", "beyond `n` is not supported by this server");
      });
}

Result<ChatRequest> read_chat(std::string_view json) {
  return read_body<ChatRequest>(
      json, "chat completions request", [](JsonReader& v, ChatRequest& x) {
        read_wishes(v, x.wishes);
        v.optional("max_completion_tokens", x.wishes.max_tokens);
        if (x.wishes.max_tokens && *x.wishes.max_tokens < 0)
          refuse(v, "max_completion_tokens",
                 fmt::format("must be at least 0, but is {}", *x.wishes.max_tokens));
        read_messages(v, x.messages);
        bool logprobs = false;
        v.defaulted("logprobs", logprobs);
        std::optional<std::int32_t> top;
        v.optional("top_logprobs", top);
        check_top(v, "top_logprobs", top);
        if (top && !logprobs)
          refuse(v, "top_logprobs", "needs `logprobs`");
        if (logprobs)
          x.wishes.logprobs = top.value_or(0);
        refuse_unknown(v, {"tools", "functions", "audio", "prediction", "web_search_options"});
        if (const auto* form = v.member("response_format"); form != nullptr && form->IsObject())
          v.object("response_format", [](JsonReader& inner) { inner.literal("type", "text"); });
      });
}

} // namespace tinkaf::server::openai
