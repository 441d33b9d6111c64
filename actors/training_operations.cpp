// SPDX-License-Identifier: Apache-2.0
#include "actors/training_operations.hpp"

#include "actors/weights_info.hpp"
#include "api/checkpoint_check.hpp"
#include "api/endpoint.hpp"
#include "api/headers.hpp"
#include "api/wire/compression.hpp"
#include "api/wire/json.hpp"
#include "api/wire/protobuf.hpp"

#include <memory>
#include <utility>

// What is sent.

namespace tinkaf::operations {

namespace {

HttpCall json_call(const char* what, Endpoint endpoint, std::string body, const Target& target) {
  return {what, make_request(endpoint, std::move(body), make_idempotency_key(), target.timeout),
          target.retry};
}

std::optional<std::int64_t> seconds(const SaveWeightsOptions& options) {
  if (!options.ttl)
    return std::nullopt;
  return options.ttl->count();
}

Result<HttpCall> protobuf_call(const char* what, const ForwardBackwardRequest& request,
                               const Target& target) {
  auto body = wire::to_protobuf(request);
  if (body && target.compress)
    body = wire::zstd_compress(*body);
  if (!body)
    return fail(std::move(body.error()));
  auto key = make_idempotency_key();
  auto call = HttpCall{what, make_request(Endpoint::forward_backward, {}, key, target.timeout),
                       target.retry};
  call.request.headers = protobuf_headers(key, target.compress ? "zstd" : "");
  call.request.body = std::make_shared<const std::string>(std::move(*body));
  return call;
}

Result<HttpCall> training_pass(const BatchSlice& chunk, const ForwardBackwardInput& input,
                               bool forward_only, std::int64_t seq_id, const Target& target) {
  auto request = ForwardBackwardRequest{.model_id = target.model_id,
                                        .seq_id = seq_id,
                                        .data = chunk,
                                        .loss_fn = input.loss_fn,
                                        .loss_fn_config = input.loss_fn_config,
                                        .forward_only = forward_only};
  const auto* what = forward_only ? "forward" : "forward_backward";
  if (target.protobuf)
    return protobuf_call(what, request, target);
  auto body = wire::to_json(request);
  if (!body)
    return fail(std::move(body.error()));
  auto endpoint = forward_only ? Endpoint::forward : Endpoint::forward_backward;
  return json_call(what, endpoint, std::move(*body), target);
}

/// The first check that failed.
Result<void> first_failure(std::initializer_list<Result<void>> checks) {
  for (const auto& result : checks)
    if (!result)
      return result;
  return {};
}

} // namespace

Result<HttpCall> ensure_model(const CreateModelRequest& request, const Target& target) {
  if (request.base_model.empty())
    return fail(Errc::invalid_argument, "base_model is empty, but a model is made from one");
  if (request.lora_config)
    if (auto checked = validate(*request.lora_config); !checked)
      return fail(std::move(checked.error()));
  return json_call("create_model", Endpoint::create_model, wire::to_json(request), target);
}

Result<HttpCall> ensure_model(const LoadWeightsRequest& request, const Target& target) {
  if (auto checked = check_training_path(request.path, "create_training_client_from_state");
      !checked)
    return fail(std::move(checked.error()));
  auto call = json_call("load_weights", Endpoint::load_weights, wire::to_json(request), target);
  if (request.weights_access_token)
    call.secrets.emplace_back(*request.weights_access_token);
  return call;
}

HttpCall weights_info_request(const LoadWeightsRequest& from, const Target& target) {
  auto call = json_call("weights_info", Endpoint::get_info, weights_info_json(from.path), target);
  call.request.path = "/api/v1/weights_info";
  if (from.weights_access_token)
    call.request.secret_headers = credential_headers(Secret{*from.weights_access_token});
  return call;
}

HttpCall get_info_request(const Target& target) {
  return json_call("get_info", Endpoint::get_info, wire::to_json(GetInfoRequest{target.model_id}),
                   target);
}

HttpCall unload_model_request(const Target& target) {
  return json_call("unload_model", Endpoint::unload_model,
                   wire::to_json(UnloadModelRequest{target.model_id}), target);
}

Result<HttpCall> send_forward_backward_request(const BatchSlice& chunk,
                                               const ForwardBackwardInput& input,
                                               std::int64_t seq_id, const Target& target) {
  return training_pass(chunk, input, false, seq_id, target);
}

Result<HttpCall> send_forward_request(const BatchSlice& chunk, const ForwardBackwardInput& input,
                                      std::int64_t seq_id, const Target& target) {
  return training_pass(chunk, input, true, seq_id, target);
}

Result<HttpCall> send_optim_step_request(const AdamParams& adam_params, std::int64_t seq_id,
                                         const Target& target) {
  if (auto checked = validate(adam_params); !checked)
    return fail(std::move(checked.error()));
  auto body = wire::to_json(OptimStepRequest{target.model_id, seq_id, adam_params});
  if (!body)
    return fail(std::move(body.error()));
  return json_call("optim_step", Endpoint::optim_step, std::move(*body), target);
}

Result<HttpCall> send_save_state_request(const std::string& name, const SaveWeightsOptions& options,
                                         std::int64_t seq_id, const Target& target) {
  if (auto checked = first_failure({check_checkpoint_name(name), check_save_options(options)});
      !checked)
    return fail(std::move(checked.error()));
  auto request = SaveWeightsRequest{.model_id = target.model_id,
                                    .seq_id = seq_id,
                                    .path = name,
                                    .ttl_seconds = seconds(options),
                                    .overwrite = options.overwrite};
  return json_call("save_weights", Endpoint::save_weights, wire::to_json(request), target);
}

Result<HttpCall> send_load_state_request(const std::string& path, bool with_optimizer,
                                         const std::optional<std::string>& weights_access_token,
                                         std::int64_t seq_id, const Target& target) {
  if (auto checked
      = check_training_path(path, with_optimizer ? "load_state_with_optimizer" : "load_state");
      !checked)
    return fail(std::move(checked.error()));
  auto request = LoadWeightsRequest{.model_id = target.model_id,
                                    .seq_id = seq_id,
                                    .path = path,
                                    .optimizer = with_optimizer,
                                    .weights_access_token = weights_access_token};
  auto call = json_call("load_weights", Endpoint::load_weights, wire::to_json(request), target);
  if (weights_access_token)
    call.secrets.emplace_back(*weights_access_token);
  return call;
}

Result<HttpCall> send_save_weights_for_sampler_request(const SamplerSave& save, std::int64_t seq_id,
                                                       const Target& target) {
  if (save.path.has_value() == save.sampling_session_seq_id.has_value())
    return fail(Errc::invalid_argument,
                "save_weights_for_sampler needs either a name or the number of a sampling session");
  auto name = save.path ? check_checkpoint_name(*save.path) : Result<void>{};
  if (auto checked = first_failure({name, check_sampler_save_options(save.options)}); !checked)
    return fail(std::move(checked.error()));
  auto request
      = SaveWeightsForSamplerRequest{.model_id = target.model_id,
                                     .seq_id = seq_id,
                                     .path = save.path,
                                     .sampling_session_seq_id = save.sampling_session_seq_id,
                                     .ttl_seconds = seconds(save.options)};
  return json_call("save_weights_for_sampler", Endpoint::save_weights_for_sampler,
                   wire::to_json(request), target);
}

SamplerSave normalize_save_weights_opts(SamplerSave save, std::int64_t& counter) {
  if (save.needs_number())
    save.sampling_session_seq_id = counter++;
  return save;
}

} // namespace tinkaf::operations
