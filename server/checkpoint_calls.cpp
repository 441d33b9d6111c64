// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json_describe.hpp"
#include "api/wire/json_rest.hpp"
#include "server/calls.hpp"
#include "server/digest.hpp"
#include "server/replies.hpp"
#include "server/request_checks.hpp"
#include "server/unread.hpp"

#include <fmt/format.h>

// Saving and loading.

namespace tinkaf::server::calls {

namespace {

/// What requests of newer clients hold besides.
struct SaveNotes {
  UserMetadata user_metadata;
};

void describe(wire::JsonReader& v, SaveNotes& x) {
  wire::visit_optional_metadata(v, "user_metadata", x.user_metadata);
}

void describe(wire::JsonWriter& v, const SaveNotes& x) {
  wire::visit_optional_metadata(v, "user_metadata", x.user_metadata);
}

Result<SaveNotes> read_notes(const HttpCall& call, const char* what) {
  return wire::read_json<SaveNotes>(call.body, what, Errc::invalid_argument);
}

/// Of a save with notes: another one under the same number may differ in these alone.
template <class Request>
std::string digest_of_save(const char* call, const Request& request, const SaveNotes& notes) {
  return digest_of(call, wire::to_json(request)
                             + (notes.user_metadata.empty() ? "" : wire::write_json(notes)));
}

/// A save under a name, which is held from the moment when the operation is accepted.
Operation save_as(ServiceCore& core, const TinkerPath& path,
                  const std::optional<std::int64_t>& ttl_seconds, bool overwrite,
                  const FutureValue& result, const SaveNotes& notes = {}) {
  auto hold = std::make_shared<CheckpointNames::Hold>();
  return {
      .compute = [&core, path, ttl_seconds, hold, result,
                  notes](Model& model, const std::stop_token&) -> Result<FutureValue> {
        // Let go before the result is told, so that who has seen it can use the name.
        const auto name = std::move(*hold);
        const bool training = path.kind == CheckpointKind::training;
        const auto now = core.wall_now();
        CheckpointInfo info{.base_model = model.trainer->name(),
                            .lora_config = model.trained->config(),
                            .created = now,
                            .user_metadata = notes.user_metadata};
        if (ttl_seconds)
          info.expires = now + std::chrono::seconds{*ttl_seconds};
        auto saved = core.state->put(path, std::move(info), [&](const auto& folder) {
          return model.trained->save(folder, training);
        });
        core.runs.store(model.id);
        if (!saved)
          return fail(std::move(saved.error()));
        core.audit.note("checkpoint_saved", path, now);
        core.note_usage(model.session_id, *model.trainer, UsageTable::Kind::checkpoints, 1);
        return result;
      },
      .reserve = [&core, path, overwrite, hold]() -> Result<void> {
        return core.take_name(path, overwrite).map([&](auto&& taken) {
          *hold = std::forward<decltype(taken)>(taken);
        });
      },
  };
}

Result<Operation> checked_save(ServiceCore& core, const SaveWeightsRequest& request,
                               const std::string& name, const SaveNotes& notes) {
  if (auto good = StateFolder::check_name(name); !good)
    return fail(std::move(good.error()));
  if (auto good = check_ttl(request.ttl_seconds); !good)
    return fail(std::move(good.error()));
  const TinkerPath path{request.model_id, CheckpointKind::training, name};
  return save_as(core, path, request.ttl_seconds, request.overwrite,
                 SaveWeightsResponse{path.str()}, notes);
}

/// A sampling session over the weights as they are when the operation runs.
Operation snapshot_as(ServiceCore& core, const Model& owner, std::int64_t number,
                      const std::string& digest) {
  auto id = SessionTable::id_of(owner.session_id, SessionTable::Kind::sampler, number);
  return {
      .compute
      = [&core, id, number, digest](Model& model, const std::stop_token&) -> Result<FutureValue> {
        const auto weights = core.sampler_weights(model.session_id, number);
        if (auto saved = model.trained->save(*weights, false); !saved)
          return fail(std::move(saved.error()));
        core.snapshots.put(weights, model.trained->snapshot());
        if (auto added = core.add_claimed(number, digest,
                                          {.id = id,
                                           .session_id = model.session_id,
                                           .trainer = model.trainer,
                                           .weights = weights,
                                           .run_id = model.id});
            !added)
          return fail(std::move(added.error()));
        return SaveWeightsForSamplerResponse{.sampling_session_id = id};
      },
      .reserve = [&core, session = owner.session_id, number,
                  digest] { return core.claim_sampler(session, number, digest); },
  };
}

Result<Operation> checked_save(ServiceCore& core, const SaveWeightsForSamplerRequest& request,
                               const Model& model, const std::string& digest,
                               const SaveNotes& notes) {
  if (auto good = check_ttl(request.ttl_seconds); !good)
    return fail(std::move(good.error()));
  if (request.path) {
    if (auto good = StateFolder::check_name(*request.path); !good)
      return fail(std::move(good.error()));
    const TinkerPath path{request.model_id, CheckpointKind::sampler, *request.path};
    return save_as(core, path, request.ttl_seconds, false,
                   SaveWeightsForSamplerResponse{.path = path.str()}, notes);
  }
  if (!request.sampling_session_seq_id || *request.sampling_session_seq_id < 0)
    return fail(Errc::invalid_argument,
                "sampling_session_seq_id: a save without `path` needs it, at least 0");
  if (request.ttl_seconds)
    return fail(Errc::invalid_argument,
                "ttl_seconds: a save without `path` lives as long as its session; leave it out");
  if (!notes.user_metadata.empty())
    return fail(Errc::invalid_argument,
                "user_metadata: a save without `path` is in no list; leave it out");
  return snapshot_as(core, model, *request.sampling_session_seq_id, digest);
}

/// In PEFT's layout, as checkpoints to sample from are.
Result<Operation> checked_save(ServiceCore& core, const SaveWeightsExternalRequest& request) {
  if (auto good = StateFolder::check_name(request.path); !good)
    return fail(std::move(good.error()));
  if (auto good = check_ttl(request.ttl_seconds); !good)
    return fail(std::move(good.error()));
  if (request.age_encryption_recipients && !request.age_encryption_recipients->empty())
    return fail(Errc::invalid_argument,
                "age_encryption_recipients: this server does not encrypt checkpoints; leave it out "
                "and encrypt what you have downloaded");
  const TinkerPath path{request.model_id, CheckpointKind::external, request.path};
  return save_as(core, path, request.ttl_seconds, false, SaveWeightsExternalResponse{path.str()});
}

/// Puts the weights of a checkpoint in the place of the model's.
Operation load_into(ServiceCore::FoundCheckpoint from, bool optimizer) {
  return {[from = std::move(from), optimizer](Model& model,
                                              const std::stop_token&) -> Result<FutureValue> {
    const auto& info = from.info;
    const auto same = [&](auto member) { return info.lora_config.*member == model.config.*member; };
    if (info.base_model != model.trainer->name())
      return fail(Errc::invalid_argument,
                  fmt::format("{} belongs to the base model `{}`, but the model is `{}`",
                              from.path.str(), info.base_model, model.trainer->name()));
    if (!same(&LoraConfig::rank) || !same(&LoraConfig::train_unembed)
        || !same(&LoraConfig::train_mlp) || !same(&LoraConfig::train_attn))
      return fail(Errc::invalid_argument,
                  fmt::format("{} has another shape than the model: rank {} and {}, and perhaps "
                              "other trained matrices",
                              from.path.str(), info.lora_config.rank, model.config.rank));
    auto loaded = model.trainer->load(*from.weights, optimizer);
    if (!loaded)
      return fail(std::move(loaded.error()));
    model.trained = std::move(*loaded);
    return LoadWeightsResponse{.path = from.path.str(), .model_id = model.id};
  }};
}

HttpReply create_by_load(ServiceCore& core, const LoadWeightsRequest& request) {
  if (!request.session_id || request.model_seq_id.value_or(-1) < 0)
    return error_reply(400, "load_weights request: needs either `model_id` and `seq_id`, or "
                            "`session_id` and `model_seq_id` (at least 0)");
  if (auto known = core.touch(*request.session_id); !known)
    return error_reply(known.error());
  auto origin = loaded(core, request);
  if (!origin)
    return error_reply(origin.error());
  return core.add_model(*request.session_id, *request.model_seq_id,
                        digest_of("load_weights", wire::to_json(request)), std::move(*origin),
                        wire::to_json(request));
}

Result<Operation> checked_load(ServiceCore& core, const LoadWeightsRequest& request) {
  if (request.session_id || request.model_seq_id)
    return fail(Errc::invalid_argument, "load_weights request: `model_id` and `session_id` exclude "
                                        "each other");
  if (request.seq_id && *request.seq_id != 1 && !core.options.load_weights_anywhere)
    return fail(Errc::invalid_argument,
                fmt::format("LoadWeights is not permitted with seq_id {}", *request.seq_id));
  auto from = core.checkpoint(request.path, CheckpointKind::training);
  if (!from)
    return fail(std::move(from.error()));
  return load_into(std::move(*from), request.optimizer);
}

} // namespace

Result<Origin> loaded(ServiceCore& core, const LoadWeightsRequest& request) {
  const auto from = core.checkpoint(request.path, CheckpointKind::training);
  if (!from)
    return fail(from.error());
  const auto& base_model = from->info.base_model;
  if (request.base_model && *request.base_model != base_model)
    return fail(Errc::invalid_argument, fmt::format("base_model: is `{}`, but {} belongs to `{}`",
                                                    *request.base_model, request.path, base_model));
  auto trainer = core.trainer(base_model);
  if (!trainer)
    return fail(std::move(trainer.error()));
  return Origin{.type = RequestType::load_weights,
                .trainer = std::move(*trainer),
                .config = from->info.lora_config,
                .user_metadata = request.user_metadata,
                .make = [weights = from->weights, optimizer = request.optimizer](
                            Trainer& base) { return base.load(*weights, optimizer); },
                .result = [text = request.path](const std::string& id) -> FutureValue {
                  return LoadWeightsResponse{.path = text, .model_id = id};
                }};
}

Result<Submission> read_save_weights(const HttpCall& call) {
  const auto request = wire::from_json<SaveWeightsRequest>(call.body);
  if (!request)
    return fail(request.error());
  const auto notes = read_notes(call, "save_weights request");
  if (!notes)
    return fail(notes.error());
  return Submission{.model_id = request->model_id,
                    .seq_id = request->seq_id,
                    .digest = digest_of_save("save_weights", *request, *notes),
                    .type = RequestType::save_weights,
                    .check = [request = *request, notes = *notes](ServiceCore& core, Model& model) {
                      return checked_save(core, request,
                                          request.path.value_or(
                                              request.seq_id ? fmt::format("seq{}", *request.seq_id)
                                                             : core.name_of_save(model)),
                                          notes);
                    }};
}

Result<Submission> read_save_weights_for_sampler(const HttpCall& call) {
  const auto request = wire::from_json<SaveWeightsForSamplerRequest>(call.body);
  if (!request)
    return fail(request.error());
  const auto notes = read_notes(call, "save_weights_for_sampler request");
  if (!notes)
    return fail(notes.error());
  const auto digest = digest_of_save("save_weights_for_sampler", *request, *notes);
  return Submission{
      .model_id = request->model_id,
      .seq_id = request->seq_id,
      .digest = digest,
      .type = RequestType::save_weights_for_sampler,
      .check = [request = *request, digest, notes = *notes](ServiceCore& core, Model& model) {
        return checked_save(core, request, model, digest, notes);
      }};
}

Result<Submission> read_save_weights_external(const HttpCall& call) {
  const auto request = wire::from_json<SaveWeightsExternalRequest>(call.body);
  if (!request)
    return fail(request.error());
  return Submission{.model_id = request->model_id,
                    .seq_id = request->seq_id,
                    .digest = digest_of("save_weights_external", wire::to_json(*request)),
                    .type = RequestType::save_weights_external,
                    .check = [request = *request](ServiceCore& core, Model&) {
                      return checked_save(core, request);
                    }};
}

Result<Submission> read_load_weights(const HttpCall& call) {
  const auto request = wire::from_json<LoadWeightsRequest>(call.body);
  if (!request)
    return fail(request.error());
  return Submission{.model_id = request->model_id.value_or(std::string{}),
                    .seq_id = request->seq_id,
                    .digest = digest_of("load_weights", wire::to_json(*request)),
                    .type = RequestType::load_weights,
                    .check = [request = *request](ServiceCore& core, Model&) {
                      return checked_load(core, request);
                    }};
}

HttpReply save_weights(ServiceCore& core, const HttpCall& call) {
  return submit(core, RequestType::save_weights, call);
}

HttpReply save_weights_for_sampler(ServiceCore& core, const HttpCall& call) {
  return submit(core, RequestType::save_weights_for_sampler, call);
}

HttpReply save_weights_external(ServiceCore& core, const HttpCall& call) {
  return submit(core, RequestType::save_weights_external, call);
}

HttpReply load_weights(ServiceCore& core, const HttpCall& call) {
  const auto request = wire::from_json<LoadWeightsRequest>(call.body);
  if (request && !request->model_id)
    return create_by_load(core, *request);
  return submit(core, RequestType::load_weights, call);
}

HttpReply weights_info(ServiceCore& core, const HttpCall& call) {
  const auto request = wire::from_json<WeightsInfoRequest>(call.body);
  if (!request)
    return error_reply(request.error());
  const auto path = TinkerPath::parse(request->tinker_path);
  if (!path)
    return error_reply(path.error());
  const auto info = core.checkpoint_info(*path);
  if (!info)
    return error_reply(info.error());
  const auto& lora = info->lora_config;
  return HttpReply::json(200, wire::to_json(WeightsInfoResponse{.base_model = info->base_model,
                                                                .is_lora = true,
                                                                .lora_rank = lora.rank,
                                                                .train_unembed = lora.train_unembed,
                                                                .train_mlp = lora.train_mlp,
                                                                .train_attn = lora.train_attn}));
}

} // namespace tinkaf::server::calls
