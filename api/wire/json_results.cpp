// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json_results.hpp"

#include "api/wire/json.hpp"
#include "api/wire/json_data.hpp"

// Futures and what they yield.

namespace tinkaf::wire {

namespace {

constexpr auto bad_answer = Errc::protocol_error;

template <class T>
Result<FutureValue> read_alternative(const rapidjson::Value& body, std::string_view what) {
  return read_json<T>(body, what, bad_answer).map([](T&& x) { return FutureValue{std::move(x)}; });
}

} // namespace

template <JsonVisitor V>
void describe(V& v, Visited<V, FutureRef>& x) {
  v.field("request_id", x.request_id);
  v.unless_empty("model_id", x.model_id);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, RetrieveFutureRequest>& x) {
  v.field("request_id", x.request_id);
  v.defaulted("allow_metadata_only", x.allow_metadata_only);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, CreateModelResponse>& x) {
  v.literal("type", "create_model");
  v.field("model_id", x.model_id);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, ForwardBackwardOutput>& x) {
  v.field("loss_fn_output_type", x.loss_fn_output_type);
  v.field("loss_fn_outputs", x.loss_fn_outputs);
  v.field("metrics", x.metrics);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, OptimStepResponse>& x) {
  v.defaulted("metrics", x.metrics);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, SaveWeightsResponse>& x) {
  v.literal("type", "save_weights");
  v.field("path", x.path);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, LoadWeightsResponse>& x) {
  v.literal("type", "load_weights");
  v.unless_empty("path", x.path);
  v.unless_empty("model_id", x.model_id);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, SaveWeightsForSamplerResponse>& x) {
  v.literal("type", "save_weights_for_sampler");
  v.optional("path", x.path);
  v.optional("sampling_session_id", x.sampling_session_id);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, SaveWeightsExternalResponse>& x) {
  v.literal("type", "save_weights_external");
  v.field("path", x.path);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, UnloadModelResponse>& x) {
  v.literal("type", "unload_model");
  v.field("model_id", x.model_id);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, SampledSequence>& x) {
  if constexpr (V::writing) {
    v.field("stop_reason", std::string{to_string(x.stop_reason)});
  } else {
    std::string reason;
    v.field("stop_reason", reason);
    if (reason == "stop")
      x.stop_reason = StopReason::stop;
    else if (reason == "length")
      x.stop_reason = StopReason::length;
    else if (const auto* found = v.member("stop_reason"))
      v.within("stop_reason", *found, [&v] { v.refuse(R"(must be "stop" or "length")"); });
  }
  v.field("tokens", x.tokens);
  v.optional("logprobs", x.logprobs);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, SampleResponse>& x) {
  v.literal("type", "sample");
  v.field("sequences", x.sequences);
  v.optional("prompt_logprobs", x.prompt_logprobs);
  v.optional("topk_prompt_logprobs", x.topk_prompt_logprobs);
  v.defaulted("prompt_cache_hit_tokens", x.prompt_cache_hit_tokens);
}

// clang-format off
std::string to_json(const FutureRef& x) { return write_json(x); }
std::string to_json(const RetrieveFutureRequest& x) { return write_json(x); }
std::string to_json(const CreateModelResponse& x) { return write_json(x); }
std::string to_json(const SaveWeightsResponse& x) { return write_json(x); }
std::string to_json(const LoadWeightsResponse& x) { return write_json(x); }
std::string to_json(const SaveWeightsForSamplerResponse& x) { return write_json(x); }
std::string to_json(const SaveWeightsExternalResponse& x) { return write_json(x); }
std::string to_json(const UnloadModelResponse& x) { return write_json(x); }
// clang-format on

Result<std::string> to_json(const ForwardBackwardOutput& x) {
  return write_json(x, "forward_backward result");
}

Result<std::string> to_json(const OptimStepResponse& x) {
  return write_json(x, "optim_step result");
}

Result<std::string> to_json(const SampleResponse& x) {
  return write_json(x, "sample result");
}

Result<std::string> to_json(const FutureValue& x) {
  return std::visit([](const auto& value) -> Result<std::string> { return to_json(value); }, x);
}

Result<FutureValue> read_future_value(RequestType type, const rapidjson::Value& body) {
  switch (type) {
  case RequestType::create_model:
    return read_alternative<CreateModelResponse>(body, "create_model result");
  case RequestType::forward:
  case RequestType::forward_backward:
    return read_alternative<ForwardBackwardOutput>(body, "forward_backward result");
  case RequestType::optim_step:
    return read_alternative<OptimStepResponse>(body, "optim_step result");
  case RequestType::save_weights:
    return read_alternative<SaveWeightsResponse>(body, "save_weights result");
  case RequestType::load_weights:
    return read_alternative<LoadWeightsResponse>(body, "load_weights result");
  case RequestType::save_weights_for_sampler:
    return read_alternative<SaveWeightsForSamplerResponse>(body, "save_weights_for_sampler result");
  case RequestType::save_weights_external:
    return read_alternative<SaveWeightsExternalResponse>(body, "save_weights_external result");
  case RequestType::unload_model:
    return read_alternative<UnloadModelResponse>(body, "unload_model result");
  case RequestType::sample:
    return read_alternative<SampleResponse>(body, "sample result");
  }
  return fail(Errc::internal, "a result of an operation that does not exist was asked for");
}

Result<FutureValue> future_value_from_json(RequestType type, std::string_view json) {
  auto body = parse_json(json, std::string{to_string(type)} + " result", bad_answer);
  if (!body)
    return fail(std::move(body.error()));
  return read_future_value(type, *body);
}

std::string error_json(std::string_view detail) {
  JsonWriter writer{BadText::replace};
  writer.value(std::map<std::string, std::string>{{"detail", std::string{detail}}});
  return writer.text();
}

template <>
Result<FutureRef> from_json(std::string_view json) {
  return read_json<FutureRef>(json, "submission answer", bad_answer);
}

template <>
Result<RetrieveFutureRequest> from_json(std::string_view json) {
  return read_json<RetrieveFutureRequest>(json, "retrieve_future request", Errc::invalid_argument);
}

template <>
Result<CreateModelResponse> from_json(std::string_view json) {
  return read_json<CreateModelResponse>(json, "create_model result", bad_answer);
}

template <>
Result<ForwardBackwardOutput> from_json(std::string_view json) {
  return read_json<ForwardBackwardOutput>(json, "forward_backward result", bad_answer);
}

template <>
Result<OptimStepResponse> from_json(std::string_view json) {
  return read_json<OptimStepResponse>(json, "optim_step result", bad_answer);
}

template <>
Result<SaveWeightsResponse> from_json(std::string_view json) {
  return read_json<SaveWeightsResponse>(json, "save_weights result", bad_answer);
}

template <>
Result<LoadWeightsResponse> from_json(std::string_view json) {
  return read_json<LoadWeightsResponse>(json, "load_weights result", bad_answer);
}

template <>
Result<SaveWeightsForSamplerResponse> from_json(std::string_view json) {
  return read_json<SaveWeightsForSamplerResponse>(json, "save_weights_for_sampler result",
                                                  bad_answer);
}

template <>
Result<UnloadModelResponse> from_json(std::string_view json) {
  return read_json<UnloadModelResponse>(json, "unload_model result", bad_answer);
}

template <>
Result<SampleResponse> from_json(std::string_view json) {
  return read_json<SampleResponse>(json, "sample result", bad_answer);
}

} // namespace tinkaf::wire
