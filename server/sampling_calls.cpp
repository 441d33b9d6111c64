// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json.hpp"
#include "api/wire/json_reader.hpp"
#include "server/calls.hpp"
#include "server/digest.hpp"
#include "server/ids.hpp"
#include "server/replies.hpp"

#include <fmt/format.h>

// Samplers and their samples.

namespace tinkaf::server::calls {

Result<Sampler> find_weights(ServiceCore& core, const std::optional<std::string>& base_model,
                             const std::optional<std::string>& model_path) {
  if (!model_path) {
    if (!base_model)
      return fail(Errc::invalid_argument, "base_model or model_path: one of them is needed");
    auto trainer = core.trainer(*base_model);
    if (!trainer)
      return fail(std::move(trainer.error()));
    return Sampler{.id = "base " + *base_model, .trainer = std::move(*trainer)};
  }
  auto found = core.checkpoint(*model_path, CheckpointKind::sampler);
  if (!found)
    return fail(std::move(found.error()));
  const auto& base = found->info.base_model;
  if (base_model && *base_model != base)
    return fail(Errc::invalid_argument, fmt::format("base_model: is `{}`, but {} belongs to `{}`",
                                                    *base_model, *model_path, base));
  auto trainer = core.trainer(base);
  if (!trainer)
    return fail(std::move(trainer.error()));
  return Sampler{.id = *model_path,
                 .trainer = std::move(*trainer),
                 .weights = std::move(found->weights),
                 .run_id = found->path.training_run_id,
                 .model_path = *model_path,
                 .version = *model_path + " " + found->info.version};
}

namespace {

/// Answers to one request, each of which the service names when it accepts it.
constexpr std::int32_t most_samples = 1024;

/// Refuses options of newer SDKs that change what a sample yields: to leave them out in silence
/// would pass for an answer. They are there in every request, mostly with the value for "off".
Result<void> check_newer_options(std::string_view body) {
  const auto json = wire::parse_json(body, "asample request", Errc::invalid_argument);
  if (!json)
    return fail(json.error());
  for (const auto* name : {"topk_sample_logprobs", "target_prompt_logprobs", "prompt_alt_tokens_k",
                           "prompt_logprobs_last_n", "record_stability_info"})
    if (const auto found = json->FindMember(name);
        found != json->MemberEnd() && !found->value.IsNull() && !found->value.IsFalse()
        && !(found->value.IsNumber() && found->value.GetDouble() == 0))
      return fail(Errc::invalid_argument,
                  fmt::format("{}: this server does not know this option; leave it out", name));
  return {};
}

} // namespace

Result<std::shared_ptr<Sampler>> find_sampler(ServiceCore& core, const AsampleRequest& request) {
  if (request.sampling_session_id)
    return core.sampler(*request.sampling_session_id);
  if (request.base_model.has_value() == request.model_path.has_value())
    return fail(Errc::invalid_argument, "asample request: without `sampling_session_id`, exactly "
                                        "one of `base_model` and `model_path` is needed");
  return find_weights(core, request.base_model, request.model_path).map([](Sampler&& x) {
    return std::make_shared<Sampler>(std::move(x));
  });
}

HttpReply create_sampling_session(ServiceCore& core, const HttpCall& call) {
  const auto request = wire::from_json<CreateSamplingSessionRequest>(call.body);
  if (!request)
    return error_reply(request.error());
  const auto number = request->sampling_session_seq_id;
  if (number < 0)
    return error_reply(
        400, fmt::format("sampling_session_seq_id: must be at least 0, but is {}", number));
  if (auto known = core.touch(request->session_id); !known)
    return error_reply(known.error());
  auto sampler = find_weights(core, request->base_model, request->model_path);
  if (!sampler)
    return error_reply(sampler.error());
  sampler->session_id = request->session_id;
  sampler->id = SessionTable::id_of(request->session_id, SessionTable::Kind::sampler, number);
  return core.add_sampler(number, digest_of("create_sampling_session", wire::to_json(*request)),
                          std::move(*sampler));
}

HttpReply asample(ServiceCore& core, const HttpCall& call) {
  const auto request = wire::from_json<AsampleRequest>(call.body);
  if (!request)
    return error_reply(request.error());
  if (request->seq_id && *request->seq_id < 0)
    return error_reply(400, fmt::format("seq_id: must be at least 0, but is {}", *request->seq_id));
  if (auto good = check_newer_options(call.body); !good)
    return error_reply(good.error());
  if (const auto wanted = request->sample.num_samples; wanted > most_samples)
    return error_reply(
        400, fmt::format("num_samples: must be at most {}, but is {}", most_samples, wanted));
  const auto sampler = find_sampler(core, *request);
  if (!sampler)
    return error_reply(sampler.error());
  if (auto good = (*sampler)->trainer->check_sample(request->sample); !good)
    return error_reply(good.error());
  const auto json = wire::to_json(*request);
  if (!json)
    return error_reply(400, json.error().message);
  auto seeded = *request;
  if (auto& seed = seeded.sample.sampling_params.seed; !seed)
    seed = draw_seed();
  return core.submit_sample(*sampler, digest_of("asample", *json), seeded);
}

void retrieve_future(ServiceCore& core, const HttpCall& call, const Responder& responder) {
  const auto request = wire::from_json<RetrieveFutureRequest>(call.body);
  if (!request)
    return responder.send(error_reply(request.error()));
  core.futures.poll(request->request_id, request->allow_metadata_only,
                    std::string{header(call.headers, "accept")}, responder,
                    ServiceCore::Clock::now());
}

} // namespace tinkaf::server::calls
