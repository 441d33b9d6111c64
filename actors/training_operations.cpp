// SPDX-License-Identifier: Apache-2.0
#include "actors/training_operations.hpp"

#include "actors/weights_info.hpp"
#include "api/endpoint.hpp"
#include "api/headers.hpp"
#include "api/metrics_merge.hpp"
#include "api/wire/compression.hpp"
#include "api/wire/json.hpp"
#include "api/wire/protobuf.hpp"

#include <memory>
#include <utility>
#include <variant>

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

} // namespace

HttpCall ensure_model(const CreateModelRequest& request, const Target& target) {
  return json_call("create_model", Endpoint::create_model, wire::to_json(request), target);
}

HttpCall ensure_model(const LoadWeightsRequest& request, const Target& target) {
  return json_call("load_weights", Endpoint::load_weights, wire::to_json(request), target);
}

HttpCall weights_info_request(const std::string& path, const Target& target) {
  auto call = json_call("weights_info", Endpoint::get_info, weights_info_json(path), target);
  call.request.path = "/api/v1/weights_info";
  return call;
}

Result<HttpCall> send_forward_backward_request(const BatchSlice& chunk,
                                               const ForwardBackwardInput& input, bool forward_only,
                                               std::int64_t seq_id, const Target& target) {
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

Result<HttpCall> send_optim_step_request(const AdamParams& adam_params, std::int64_t seq_id,
                                         const Target& target) {
  auto body = wire::to_json(OptimStepRequest{target.model_id, seq_id, adam_params});
  if (!body)
    return fail(std::move(body.error()));
  return json_call("optim_step", Endpoint::optim_step, std::move(*body), target);
}

HttpCall send_save_state_request(const std::string& name, const SaveWeightsOptions& options,
                                 std::int64_t seq_id, const Target& target) {
  auto request = SaveWeightsRequest{.model_id = target.model_id,
                                    .seq_id = seq_id,
                                    .path = name,
                                    .ttl_seconds = seconds(options),
                                    .overwrite = options.overwrite};
  return json_call("save_weights", Endpoint::save_weights, wire::to_json(request), target);
}

HttpCall send_load_state_request(const std::string& path, bool with_optimizer, std::int64_t seq_id,
                                 const Target& target) {
  auto request = LoadWeightsRequest{
      .model_id = target.model_id, .seq_id = seq_id, .path = path, .optimizer = with_optimizer};
  return json_call("load_weights", Endpoint::load_weights, wire::to_json(request), target);
}

HttpCall send_save_weights_for_sampler_request(const std::optional<std::string>& name,
                                               std::optional<std::int64_t> sampling_session_seq_id,
                                               const SaveWeightsOptions& options,
                                               std::int64_t seq_id, const Target& target) {
  auto request = SaveWeightsForSamplerRequest{.model_id = target.model_id,
                                              .seq_id = seq_id,
                                              .path = name,
                                              .sampling_session_seq_id = sampling_session_seq_id,
                                              .ttl_seconds = seconds(options)};
  return json_call("save_weights_for_sampler", Endpoint::save_weights_for_sampler,
                   wire::to_json(request), target);
}

HttpCall get_info_request(const Target& target) {
  return json_call("get_info", Endpoint::get_info, wire::to_json(GetInfoRequest{target.model_id}),
                   target);
}

HttpCall unload_model_request(const Target& target) {
  return json_call("unload_model", Endpoint::unload_model,
                   wire::to_json(UnloadModelRequest{target.model_id}), target);
}

Result<void> check_batch(const ForwardBackwardInput& input) {
  if (!input.data || input.data->empty())
    return fail(Errc::invalid_argument, "`data` is empty: a batch has at least one datum");
  for (std::size_t i = 0; i < input.data->size(); ++i) {
    for (const auto& [name, tensor] : (*input.data)[i].loss_fn_inputs) {
      auto where = "data[" + std::to_string(i) + "].loss_fn_inputs." + name;
      if (auto checked = validate(tensor, where); !checked)
        return checked;
    }
  }
  return {};
}

Result<ForwardBackwardOutput> combine_outputs(std::vector<FutureValue> parts) {
  std::vector<ForwardBackwardOutput> outputs;
  outputs.reserve(parts.size());
  for (auto& part : parts) {
    auto* output = std::get_if<ForwardBackwardOutput>(&part);
    if (output == nullptr)
      return fail(Errc::protocol_error, "the result is not that of a training pass");
    outputs.push_back(std::move(*output));
  }
  return merge_outputs(std::move(outputs));
}

} // namespace tinkaf::operations
