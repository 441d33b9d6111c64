// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json.hpp"
#include "api/wire/protobuf.hpp"
#include "server/calls.hpp"
#include "server/digest.hpp"
#include "server/replies.hpp"
#include "server/unread.hpp"

#include <fmt/format.h>

// Models and their training.

namespace tinkaf::server::calls {

namespace {

using Operation = ServiceCore::Operation;

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
                          ForwardBackwardRequest request) {
  const auto data = request.data.data();
  if (data.empty())
    return fail(Errc::invalid_argument, "data: must hold at least one datum");
  if (auto good = trainer.check_loss_config(request.loss_fn, request.loss_fn_config); !good)
    return fail(std::move(good.error()));
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (auto good = trainer.check_datum(data[i], request.loss_fn, i); !good)
      return fail(std::move(good.error()));
    tokens += length(data[i].model_input).value_or(0);
  }
  return Operation{[&core, tokens, request = std::move(request)](
                       Model& model, const std::stop_token& stop) -> Result<FutureValue> {
    auto output = model.trained->forward_backward(
        request.data.data(), request.loss_fn, request.loss_fn_config, request.forward_only, stop);
    if (!output)
      return fail(std::move(output.error()));
    core.note_usage(model.session_id, *model.trainer, UsageTable::Kind::trained_tokens, tokens);
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

HttpReply train(ServiceCore& core, const HttpCall& call, bool forward_only) {
  auto request = read_training(call, forward_only);
  if (!request)
    return refuse_unread(core, call, request.error());
  const auto model = core.model(request->model_id);
  if (!model)
    return error_reply(model.error());
  const auto seq_id = request->seq_id;
  const auto digest = digest_of(*request);
  return core.submit(*model, seq_id, digest,
                     checked(core, *(*model)->trainer, std::move(*request)));
}

} // namespace

HttpReply create_model(ServiceCore& core, const HttpCall& call) {
  const auto request = wire::from_json<CreateModelRequest>(call.body);
  if (!request)
    return error_reply(request.error());
  if (request->base_model.empty())
    return error_reply(400, "base_model is required");
  if (request->model_seq_id < 0)
    return error_reply(
        400, fmt::format("model_seq_id: must be at least 0, but is {}", request->model_seq_id));
  if (auto known = core.touch(request->session_id); !known)
    return error_reply(known.error());
  const auto trainer = core.trainer(request->base_model);
  if (!trainer)
    return error_reply(trainer.error());
  if (auto good = check_lora(request->lora_config, core.options.limits.max_lora_rank); !good)
    return error_reply(good.error());
  return core.add_model(
      request->session_id, request->model_seq_id,
      digest_of("create_model", wire::to_json(*request)),
      {.trainer = *trainer,
       .config = *request->lora_config,
       .user_metadata = request->user_metadata,
       .make = [config = *request->lora_config](Trainer& base) { return base.create(config); },
       .result = [](const std::string& id) -> FutureValue { return CreateModelResponse{id}; }});
}

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
                                                      .tokenizer_id = trainer.name(),
                                                      .is_lora = true,
                                                      .lora_rank = (*model)->config.rank}));
}

HttpReply unload_model(ServiceCore& core, const HttpCall& call) {
  const auto request = wire::from_json<UnloadModelRequest>(call.body);
  return request ? core.unload(request->model_id) : error_reply(request.error());
}

HttpReply forward(ServiceCore& core, const HttpCall& call) {
  return train(core, call, true);
}

HttpReply forward_backward(ServiceCore& core, const HttpCall& call) {
  return train(core, call, false);
}

HttpReply optim_step(ServiceCore& core, const HttpCall& call) {
  const auto request = wire::from_json<OptimStepRequest>(call.body);
  if (!request)
    return refuse_unread(core, call, request.error());
  const auto model = core.model(request->model_id);
  if (!model)
    return error_reply(model.error());
  Result<Operation> operation = Operation{
      [params = request->adam_params](Model& x, const std::stop_token&) -> Result<FutureValue> {
        return x.trained->optim_step(params).map(
            [](OptimStepResponse&& done) { return FutureValue{std::move(done)}; });
      }};
  if (auto good = validate(request->adam_params); !good)
    operation = fail(std::move(good.error()));
  const auto json = wire::to_json(*request);
  return core.submit(*model, request->seq_id, digest_of("optim_step", json.value_or(call.body)),
                     std::move(operation));
}

} // namespace tinkaf::server::calls
