// SPDX-License-Identifier: Apache-2.0
#include "server/openai/calls.hpp"

#include "api/wire/json_writer.hpp"
#include "server/calls.hpp"
#include "server/ids.hpp"
#include "server/openai/answer.hpp"
#include "server/openai/events.hpp"
#include "server/openai/request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

namespace tinkaf::server::openai {

namespace {

/// An answer that is sent while it is drawn.
class EventStream {
public:
  EventStream(Responder responder, const Answer& answer, std::vector<std::string> stop)
      : events(answer, std::move(stop)), responder_(std::move(responder)) {}
  ~EventStream() {
    if (body_)
      body_->break_off();
  }
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  /// Sends what has been written. The first time, the client learns that all is well.
  void flush() {
    auto text = events.take();
    if (text.empty())
      return;
    if (!body_) {
      body_ = std::make_shared<BodyStream>();
      responder_.send(event_reply(body_));
    }
    body_->write(std::move(text));
  }

  void end() {
    flush();
    body_->end();
  }

  [[nodiscard]] bool begun() const noexcept {
    return body_ != nullptr;
  }

  Events events;

private:
  Responder responder_;
  std::shared_ptr<BodyStream> body_;
};

/// A call that is being answered. Of one thread at a time once it is under way.
struct Job {
  Responder responder;
  std::shared_ptr<Sampler> sampler;
  Wishes wishes;
  std::vector<std::vector<Token>> prompts;

  /// Of the same prompts.
  std::vector<SampleRequest> requests;

  /// Tokens that end an answer and are no part of it.
  std::vector<Token> ends;
  bool echo = false;
  std::size_t done = 0;
  Answer answer;
  std::unique_ptr<EventStream> stream; // if that is wanted

  [[nodiscard]] const text::Tokenizer& tokenizer() const {
    return *sampler->trainer->tokenizer();
  }

  /// What a sample tells of its tokens is at its temperature; here it is told at temperature 1.
  [[nodiscard]] bool looks_again() const {
    const bool tempered = wishes.temperature != 0.0 && wishes.temperature != 1.0;
    return wishes.logprobs && (*wishes.logprobs > 0 || tempered);
  }

  /// Whether all that is to be told of a token is known once it is drawn.
  [[nodiscard]] bool is_live() const {
    return stream && !looks_again() && !(echo && wishes.logprobs) && wishes.max_tokens != 0;
  }
};

/// `tinker://…`, the name of a base model, or both with `;` between them.
Result<std::shared_ptr<Sampler>> find_model(ServiceCore& core, const std::string& model) {
  std::optional<std::string> base;
  std::optional<std::string> path;
  if (const auto mark = model.find(';'); mark != std::string::npos) {
    base = model.substr(0, mark);
    path = model.substr(mark + 1);
  } else {
    (model.starts_with("tinker://") ? path : base) = model;
  }
  if (base)
    if (const auto known = core.trainer(*base); !known)
      return fail(Error{.code = Errc::not_found, .message = "model: " + known.error().message});
  auto found = calls::find_weights(core, base, path);
  if (!found)
    return fail(std::move(found.error()));
  if (found->trainer->tokenizer() == nullptr)
    return fail(Errc::invalid_argument,
                fmt::format("model: `{}` has no tokenizer, so that it knows tokens only", model));
  return std::make_shared<Sampler>(std::move(*found));
}

Result<void> plan(Job& job) {
  const auto& wishes = job.wishes;
  const auto window = job.sampler->trainer->max_context_length();
  const auto seed = wishes.seed ? *wishes.seed : draw_seed();
  for (const auto& prompt : job.prompts) {
    SampleRequest request{.prompt = ModelInput::from_ints(prompt), .num_samples = wishes.n};
    auto& params = request.sampling_params;
    params.max_tokens = wishes.max_tokens;
    if (params.max_tokens == 0)
      params.max_tokens = 1; // of which nothing is told
    const auto room = window - static_cast<std::int64_t>(prompt.size());
    if (job.looks_again()) { // which takes one token more
      if (!params.max_tokens)
        params.max_tokens = static_cast<std::int32_t>(std::max<std::int64_t>(room - 1, 1));
      if (*params.max_tokens > room - 1)
        return fail(Errc::invalid_argument,
                    fmt::format("max_tokens: the prompt has {} tokens and the model's context "
                                "window {}; together with logprobs there is room for {}",
                                prompt.size(), window, std::max<std::int64_t>(room - 1, 0)));
    }
    params.seed = seed;
    params.temperature = wishes.temperature;
    params.top_p = wishes.top_p;
    if (wishes.stop.empty()) {
      if (!job.ends.empty())
        params.stop = job.ends;
    } else {
      auto texts = wishes.stop;
      for (const auto token : job.ends)
        texts.emplace_back(job.tokenizer().token_bytes(token));
      params.stop = std::move(texts);
    }
    if (job.echo && wishes.logprobs) {
      request.include_prompt_logprobs = true;
      request.topk_prompt_logprobs = *wishes.logprobs;
    }
    if (auto good = job.sampler->trainer->check_sample(request); !good)
      return good;
    job.requests.push_back(std::move(request));
  }
  return {};
}

Details details_of(const SampleResponse& response) {
  return {response.prompt_logprobs.value_or(std::vector<std::optional<float>>{}),
          response.topk_prompt_logprobs.value_or(
              std::vector<std::optional<std::vector<TokenLogprob>>>{})};
}

/// Reads a continuation as a prompt, so that its tokens are told at temperature 1, with others.
Result<Details> look_again(const Job& job, const SampledSequence& sequence,
                           const ServiceCore::Draw& draw) {
  auto tokens = job.prompts[job.done];
  const auto length = static_cast<std::ptrdiff_t>(tokens.size());
  tokens.insert(tokens.end(), sequence.tokens.begin(), sequence.tokens.end());
  const auto read = draw({.prompt = ModelInput::from_ints(tokens),
                          .sampling_params = {.max_tokens = 1, .seed = 0, .temperature = 0.0},
                          .include_prompt_logprobs = true,
                          .topk_prompt_logprobs = *job.wishes.logprobs},
                         false, {});
  if (!read)
    return fail(read.error());
  auto out = details_of(*read);
  out.logprobs.erase(out.logprobs.begin(), out.logprobs.begin() + length);
  if (!out.top.empty())
    out.top.erase(out.top.begin(), out.top.begin() + length);
  return out;
}

void tell_pieces(Job& job, std::size_t choice, const std::vector<Piece>& pieces) {
  for (const auto& piece : pieces)
    job.stream->events.echo(choice, piece);
}

/// Tells the tokens of the choices from the given one on as they are drawn.
TokenSink tell_tokens(Job& job, std::size_t first) {
  return [&job, first](std::size_t number, const SampledSequence& so_far, bool complete) {
    const auto token = so_far.tokens.back();
    auto& events = job.stream->events;
    const bool is_end = complete && so_far.stop_reason == StopReason::stop
                        && std::find(job.ends.begin(), job.ends.end(), token) != job.ends.end();
    if (!is_end)
      events.add(first + number, std::move(make_pieces(job.tokenizer(), {token},
                                                       {{so_far.logprobs->back()}, {}})[0]));
    if (complete)
      events.finish(first + number, so_far.stop_reason);
    job.stream->flush();
  };
}

Result<void> add_choices(Job& job, const ServiceCore::Draw& draw) {
  const auto& prompt = job.prompts[job.done];
  const auto first = job.answer.choices.size();
  const bool live = job.is_live();
  if (live && job.echo)
    for (std::int32_t i = 0; i < job.wishes.n; ++i)
      tell_pieces(job, first + static_cast<std::size_t>(i),
                  make_pieces(job.tokenizer(), prompt, {}));
  const auto drawn
      = draw(job.requests[job.done], true, live ? tell_tokens(job, first) : TokenSink{});
  if (!drawn)
    return fail(drawn.error());
  job.answer.prompt_tokens += static_cast<std::int64_t>(prompt.size());
  for (auto sequence : drawn->sequences) {
    if (job.wishes.max_tokens == 0)
      sequence = {.logprobs = std::vector<float>{}};
    Details details;
    if (job.looks_again() && !sequence.tokens.empty()) {
      auto found = look_again(job, sequence, draw);
      if (!found)
        return fail(std::move(found.error()));
      details = std::move(*found);
    } else if (sequence.logprobs) {
      details.logprobs.assign(sequence.logprobs->begin(), sequence.logprobs->end());
    }
    auto choice = make_choice(job.tokenizer(), sequence, details, job.ends, job.wishes.stop);
    if (job.echo) {
      auto pieces = make_pieces(job.tokenizer(), prompt, details_of(*drawn));
      pieces.insert(pieces.end(), std::make_move_iterator(choice.pieces.begin()),
                    std::make_move_iterator(choice.pieces.end()));
      choice.pieces = std::move(pieces);
    }
    if (job.stream && !live) {
      tell_pieces(job, job.answer.choices.size(), choice.pieces);
      job.stream->events.finish(job.answer.choices.size(), choice.reason);
    }
    job.answer.completion_tokens += static_cast<std::int64_t>(sequence.tokens.size());
    job.answer.choices.push_back(std::move(choice));
  }
  if (job.stream)
    job.stream->flush();
  return {};
}

/// Tells what has gone wrong, in the stream if that has begun.
void give_up(Job& job, HttpReply reply) {
  if (!job.stream || !job.stream->begun())
    return job.responder.send(std::move(reply));
  job.stream->events.fail(*reply.body);
  job.stream->end();
}

/// Answers one prompt; true if there are more.
bool go_on(const ServiceCore& core, Job& job, const ServiceCore::Draw& draw) {
  if (auto added = add_choices(job, draw); !added) {
    give_up(job, core.stopping() ? error_reply(503, "the server is stopping")
                                 : error_reply(added.error()));
    return false;
  }
  if (++job.done < job.prompts.size())
    return true;
  if (job.stream) {
    job.stream->events.close(job.wishes.usage_in_stream);
    job.stream->end();
  } else {
    job.responder.send(json_reply(job.answer));
  }
  return false;
}

void begin(ServiceCore& core, std::shared_ptr<Job> job) {
  if (auto planned = plan(*job); !planned)
    return job->responder.send(error_reply(planned.error()));
  auto& answer = job->answer;
  answer.id = (answer.chat ? "chatcmpl-" : "cmpl-") + make_uuid();
  answer.model = job->wishes.model;
  answer.created
      = std::chrono::duration_cast<std::chrono::seconds>(core.wall_now().time_since_epoch());
  answer.logprobs = job->wishes.logprobs.has_value();
  if (job->wishes.stream)
    job->stream = std::make_unique<EventStream>(job->responder, answer, job->wishes.stop);
  const auto begun = core.draw_by_turns(job->sampler, [&core, job](const ServiceCore::Draw& draw) {
    return go_on(core, *job, draw);
  });
  if (!begun)
    job->responder.send(error_reply(begun.error()));
}

} // namespace

void completions(ServiceCore& core, const HttpCall& call, const Responder& responder) {
  auto request = read_completion(call.body);
  if (!request)
    return responder.send(error_reply(request.error()));
  auto sampler = find_model(core, request->wishes.model);
  if (!sampler)
    return responder.send(error_reply(sampler.error()));
  const auto job = std::make_shared<Job>(Job{.responder = responder,
                                             .sampler = std::move(*sampler),
                                             .wishes = std::move(request->wishes),
                                             .prompts = {},
                                             .requests = {},
                                             .ends = {},
                                             .echo = request->echo,
                                             .answer = {},
                                             .stream = {}});
  if (const auto eos = job->tokenizer().eos())
    job->ends.push_back(*eos);
  for (auto& prompt : request->prompts) {
    if (const auto* text = std::get_if<std::string>(&prompt))
      job->prompts.push_back(text_prompt(job->tokenizer(), *text));
    else
      job->prompts.push_back(std::get<std::vector<Token>>(std::move(prompt)));
  }
  begin(core, job);
}

void chat_completions(ServiceCore& core, const HttpCall& call, const Responder& responder) {
  auto request = read_chat(call.body);
  if (!request)
    return responder.send(error_reply(request.error()));
  auto sampler = find_model(core, request->wishes.model);
  if (!sampler)
    return responder.send(error_reply(sampler.error()));
  const auto& trainer = *(*sampler)->trainer;
  auto prompt = chat_prompt(*trainer.tokenizer(), trainer.name(), request->messages);
  if (!prompt)
    return responder.send(error_reply(prompt.error()));
  const auto job = std::make_shared<Job>(Job{.responder = responder,
                                             .sampler = std::move(*sampler),
                                             .wishes = std::move(request->wishes),
                                             .prompts = {std::move(prompt->tokens)},
                                             .requests = {},
                                             .ends = std::move(prompt->ends),
                                             .answer = {.chat = true},
                                             .stream = {}});
  begin(core, job);
}

namespace {

struct ModelEntry {
  std::string id;
};

struct ModelList {
  std::vector<ModelEntry> data;
};

void describe(wire::JsonWriter& v, const ModelEntry& x) {
  v.field("id", x.id);
  v.literal("object", "model");
  v.field("created", std::int64_t{0});
  v.literal("owned_by", "local");
}

void describe(wire::JsonWriter& v, const ModelList& x) {
  v.literal("object", "list");
  v.field("data", x.data);
}

} // namespace

HttpReply models(ServiceCore& core, const HttpCall&) {
  ModelList out;
  for (const auto& trainer : core.trainers)
    out.data.push_back({trainer->name()});
  return HttpReply::json(200, wire::write_json(out));
}

} // namespace tinkaf::server::openai
