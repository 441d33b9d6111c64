// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json.hpp"
#include "api/wire/json_reader.hpp"
#include "api/wire/protobuf.hpp"
#include "server/calls.hpp"
#include "server/digest.hpp"
#include "server/ids.hpp"
#include "server/replies.hpp"
#include "server/server.hpp"
#include "server/unread.hpp"

#include <fmt/format.h>

#include <filesystem>

// Models and their training.

namespace tinkaf::server::calls {

namespace {

Result<void> check_lora(const std::optional<LoraConfig>& config, std::int32_t max_rank) {
  if (!config)
    return fail(Errc::invalid_argument,
                "lora_config: is missing; this server trains LoRA adapters only");
  if (auto good = validate(*config); !good)
    return good;
  if (config->rank > max_rank)
    return fail(Errc::invalid_argument,
                fmt::format("lora_config.rank must be a power of 2 up to {}, but is {}", max_rank,
                            config->rank));
  return {};
}

Result<Operation> checked(ServiceCore& core, const Trainer& trainer,
                          const ForwardBackwardRequest& request) {
  const auto data = request.data.data();
  if (data.empty())
    return fail(Errc::invalid_argument, "data: must hold at least one datum");
  if (const auto most = core.options.limits.max_data; data.size() > most)
    return fail(
        Errc::invalid_argument,
        fmt::format("data: holds {} datums, but at most {} are taken at once", data.size(), most));
  if (auto good = trainer.check_loss_config(request.loss_fn, request.loss_fn_config); !good)
    return fail(std::move(good.error()));
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (auto good = trainer.check_datum(data[i], request.loss_fn, i); !good)
      return fail(std::move(good.error()));
    tokens += length(data[i].model_input).value_or(0);
  }
  return Operation{[&core, tokens, request](Model& model,
                                            const std::stop_token& stop) -> Result<FutureValue> {
    auto output = model.trained->forward_backward(
        request.data.data(), request.loss_fn, request.loss_fn_config, request.forward_only, stop);
    if (!output)
      return fail(std::move(output.error()));
    if (!model.repeating)
      core.note_pass(model, tokens);
    return FutureValue{std::move(*output)};
  }};
}

Result<ForwardBackwardRequest> read_training(const HttpCall& call, bool forward_only) {
  if (is_protobuf(call)) {
    auto request = wire::forward_backward_request_from_protobuf(call.body);
    if (request && forward_only)
      request->forward_only = true;
    return request;
  }
  auto request = wire::from_json<ForwardBackwardRequest>(call.body);
  if (request && request->forward_only != forward_only)
    return fail(Errc::invalid_argument,
                fmt::format("{} request: `{}` is missing",
                            forward_only ? "forward" : "forward_backward",
                            forward_only ? "forward_input" : "forward_backward_input"));
  return request;
}

/// Whether the metrics of a step are to tell the norm of each gradient, as `user_metadata` of the
/// model says.
bool wants_norms(const ServiceCore& core, const Model& model) {
  const auto run = core.runs.find(model.id);
  if (!run)
    return false;
  const auto found = run->user_metadata.find("grad_norms");
  return found != run->user_metadata.end() && found->second == "per_tensor";
}

/// Whether a body is an object without a session, as clients sent it that knew no sessions.
bool lacks_session(std::string_view json) {
  const auto body = wire::parse_json(json, "create_model request", Errc::invalid_argument);
  return body && body->IsObject() && wire::find_member(*body, "session_id") == nullptr;
}

/// The first optimizer in a body, at `field.type`, that is another than ours.
Result<void> check_optimizer(std::string_view json, std::string_view field) {
  const auto body = wire::parse_json(json, "request", Errc::invalid_argument);
  if (!body || !body->IsObject())
    return {}; // which is told by whoever reads it
  const auto* found = wire::find_member(*body, field);
  const auto* type
      = found != nullptr && found->IsObject() ? wire::find_member(*found, "type") : nullptr;
  if (type == nullptr || !type->IsString() || wire::text_of(*type) == "adamw")
    return {};
  return fail(
      Errc::invalid_argument,
      fmt::format("{}.type: this server has the optimizer adamw only, but `{}` is asked for", field,
                  wire::text_of(*type)));
}

} // namespace

Result<Submission> read_pass(const HttpCall& call, bool forward_only) {
  auto request = read_training(call, forward_only);
  if (!request)
    return fail(std::move(request.error()));
  Submission out{.model_id = request->model_id,
                 .seq_id = request->seq_id,
                 .digest = digest_of(*request),
                 .type
                 = request->forward_only ? RequestType::forward : RequestType::forward_backward};
  out.check = [request = std::move(*request)](ServiceCore& core, Model& model) {
    return checked(core, *model.trainer, request);
  };
  return out;
}

Result<Submission> read_optim_step(const HttpCall& call) {
  if (auto good = check_optimizer(call.body, "optimizer_params"); !good)
    return fail(std::move(good.error()));
  const auto request = wire::from_json<OptimStepRequest>(call.body);
  if (!request)
    return fail(request.error());
  const auto& params = request->adam_params;
  return Submission{
      .model_id = request->model_id,
      .seq_id = request->seq_id,
      .digest = digest_of("optim_step", wire::to_json(*request).value_or(call.body)),
      .type = RequestType::optim_step,
      .check = [params](ServiceCore& core, Model&) -> Result<Operation> {
        if (auto good = validate(params); !good)
          return fail(std::move(good.error()));
        return Operation{[&core, params](Model& model,
                                         const std::stop_token&) -> Result<FutureValue> {
          const auto norms = wants_norms(core, model) ? model.trained->gradient_norms() : Metrics{};
          auto done = model.trained->optim_step(params);
          if (!done)
            return fail(std::move(done.error()));
          done->metrics.insert(norms.begin(), norms.end());
          return FutureValue{std::move(*done)};
        }};
      }};
}

Result<Submission> read_submission(RequestType type, const HttpCall& call) {
  switch (type) {
  case RequestType::forward:
    return read_pass(call, true);
  case RequestType::optim_step:
    return read_optim_step(call);
  case RequestType::save_weights:
    return read_save_weights(call);
  case RequestType::save_weights_for_sampler:
    return read_save_weights_for_sampler(call);
  case RequestType::save_weights_external:
    return read_save_weights_external(call);
  case RequestType::load_weights:
    return read_load_weights(call);
  default:
    return read_pass(call, false);
  }
}

HttpReply submit(ServiceCore& core, RequestType type, const HttpCall& call) {
  const auto submission = read_submission(type, call);
  if (!submission)
    return refuse_unread(core, call, submission.error());
  const auto model = core.model(submission->model_id);
  if (!model)
    return error_reply(model.error());
  return core.submit(*model, *submission, call);
}

Result<Origin> created(ServiceCore& core, const CreateModelRequest& request) {
  auto trainer = core.trainer(request.base_model);
  if (!trainer)
    return fail(std::move(trainer.error()));
  if (auto good = check_lora(request.lora_config, core.options.limits.max_lora_rank); !good)
    return fail(std::move(good.error()));
  auto config = *request.lora_config;
  if (!config.seed)
    config.seed = draw_seed();
  return Origin{.type = RequestType::create_model,
                .trainer = std::move(*trainer),
                .config = config,
                .user_metadata = request.user_metadata,
                .make = [config](Trainer& base) { return base.create(config); },
                .result
                = [](const std::string& id) -> FutureValue { return CreateModelResponse{id}; }};
}

Result<Origin> read_origin(ServiceCore& core, RequestType type, const std::string& body) {
  if (type == RequestType::load_weights) {
    const auto request = wire::from_json<LoadWeightsRequest>(body);
    return request ? loaded(core, *request) : fail(request.error());
  }
  const auto request = wire::from_json<CreateModelRequest>(body);
  return request ? created(core, *request) : fail(request.error());
}

HttpReply create_model(ServiceCore& core, const HttpCall& call) {
  const auto request = wire::from_json<CreateModelRequest>(call.body);
  if (!request && lacks_session(call.body)) // in the words that clients know
    return error_reply(400, "session_id is required. The version of the Tinker SDK you are using "
                            "is no longer supported.");
  if (!request)
    return error_reply(request.error());
  if (request->base_model.empty())
    return error_reply(400, "base_model is required");
  if (auto good = check_optimizer(call.body, "optimizer_config"); !good)
    return error_reply(good.error());
  if (request->model_seq_id < 0)
    return error_reply(
        400, fmt::format("model_seq_id: must be at least 0, but is {}", request->model_seq_id));
  if (auto known = core.touch(request->session_id); !known)
    return error_reply(known.error());
  auto origin = created(core, *request);
  if (!origin)
    return error_reply(origin.error());
  return core.add_model(request->session_id, request->model_seq_id,
                        digest_of("create_model", wire::to_json(*request)), std::move(*origin),
                        call.body);
}

namespace {

/// Where a client finds the tokenizer: the folder of the model if it is on the same machine, as it
/// is when the server can be reached from there alone; else the model's name.
std::string tokenizer_of(const ServiceCore& core, const Trainer& trainer) {
  const auto& models = core.options.models;
  const auto& trainers = core.trainers;
  if (models.size() == trainers.size() && is_loopback(core.options.host))
    for (std::size_t i = 0; i < models.size(); ++i)
      if (trainers[i].get() == &trainer)
        return std::filesystem::absolute(models[i].dir).lexically_normal().string();
  return trainer.name();
}

} // namespace

HttpReply get_info(ServiceCore& core, const HttpCall& call) {
  const auto request = wire::from_json<GetInfoRequest>(call.body);
  if (!request)
    return error_reply(request.error());
  const auto model = core.model(request->model_id);
  if (!model)
    return error_reply(model.error());
  const auto& trainer = *(*model)->trainer;
  return HttpReply::json(200, wire::to_json(ModelInfo{.model_id = request->model_id,
                                                      .model_name = trainer.name(),
                                                      .arch = trainer.arch(),
                                                      .tokenizer_id = tokenizer_of(core, trainer),
                                                      .is_lora = true,
                                                      .lora_rank = (*model)->config.rank}));
}

HttpReply unload_model(ServiceCore& core, const HttpCall& call) {
  const auto request = wire::from_json<UnloadModelRequest>(call.body);
  return request ? core.unload(request->model_id) : error_reply(request.error());
}

HttpReply forward(ServiceCore& core, const HttpCall& call) {
  return submit(core, RequestType::forward, call);
}

HttpReply forward_backward(ServiceCore& core, const HttpCall& call) {
  return submit(core, RequestType::forward_backward, call);
}

HttpReply optim_step(ServiceCore& core, const HttpCall& call) {
  return submit(core, RequestType::optim_step, call);
}

} // namespace tinkaf::server::calls
