// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json.hpp"
#include "api/wire/json_data.hpp"

// Requests of a training client.

namespace tinkaf::wire {

namespace {

constexpr auto bad_request = Errc::invalid_argument;

void write_input(JsonWriter& v, const ForwardBackwardRequest& x) {
  v.list("data", x.data.data());
  v.field("loss_fn", std::string{to_string(x.loss_fn)});
  v.optional("loss_fn_config", x.loss_fn_config);
}

void read_input(JsonReader& v, ForwardBackwardRequest& x) {
  std::vector<Datum> data;
  v.field("data", data);
  x.data = BatchSlice::whole(make_batch(std::move(data)));
  std::string name;
  v.field("loss_fn", name);
  if (auto loss_fn = parse_loss_fn(name))
    x.loss_fn = *loss_fn;
  else if (const auto* found = v.member("loss_fn"))
    v.within("loss_fn", *found, [&] { v.refuse("is wrong: " + loss_fn.error().message); });
  v.optional("loss_fn_config", x.loss_fn_config);
}

} // namespace

inline void describe(JsonWriter& v, const ForwardBackwardRequest& x) {
  v.object(x.forward_only ? "forward_input" : "forward_backward_input",
           [&x](JsonWriter& input) { write_input(input, x); });
  v.field("model_id", x.model_id);
  v.optional("seq_id", x.seq_id);
}

inline void describe(JsonReader& v, ForwardBackwardRequest& x) {
  x.forward_only = v.member("forward_input") != nullptr;
  v.object(x.forward_only ? "forward_input" : "forward_backward_input",
           [&x](JsonReader& input) { read_input(input, x); });
  v.field("model_id", x.model_id);
  v.optional("seq_id", x.seq_id);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, AdamParams>& x) {
  v.defaulted("learning_rate", x.learning_rate);
  v.defaulted("beta1", x.beta1);
  v.defaulted("beta2", x.beta2);
  v.defaulted("eps", x.eps);
  v.defaulted("weight_decay", x.weight_decay);
  v.defaulted("grad_clip_norm", x.grad_clip_norm);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, OptimStepRequest>& x) {
  v.field("adam_params", x.adam_params);
  v.field("model_id", x.model_id);
  v.optional("seq_id", x.seq_id);
  v.literal("type", "optim_step");
}

template <JsonVisitor V>
void describe(V& v, Visited<V, SaveWeightsRequest>& x) {
  v.field("model_id", x.model_id);
  v.optional("path", x.path);
  v.optional("seq_id", x.seq_id);
  v.optional("ttl_seconds", x.ttl_seconds);
  v.defaulted("overwrite", x.overwrite);
  v.literal("type", "save_weights");
}

template <JsonVisitor V>
void describe(V& v, Visited<V, LoadWeightsRequest>& x) {
  v.optional("model_id", x.model_id);
  v.optional("seq_id", x.seq_id);
  v.optional("session_id", x.session_id);
  v.optional("model_seq_id", x.model_seq_id);
  v.optional("base_model", x.base_model);
  visit_optional_metadata(v, "user_metadata", x.user_metadata);
  v.field("path", x.path);
  v.field("optimizer", x.optimizer);
  v.optional("weights_access_token", x.weights_access_token);
  v.literal("type", "load_weights");
}

template <JsonVisitor V>
void describe(V& v, Visited<V, SaveWeightsForSamplerRequest>& x) {
  v.field("model_id", x.model_id);
  v.optional("path", x.path);
  v.optional("sampling_session_seq_id", x.sampling_session_seq_id);
  v.optional("seq_id", x.seq_id);
  v.optional("ttl_seconds", x.ttl_seconds);
  v.literal("type", "save_weights_for_sampler");
}

template <JsonVisitor V>
void describe(V& v, Visited<V, SaveWeightsExternalRequest>& x) {
  v.field("model_id", x.model_id);
  v.field("path", x.path);
  v.optional("seq_id", x.seq_id);
  v.optional("ttl_seconds", x.ttl_seconds);
  v.optional("age_encryption_recipients", x.age_encryption_recipients);
  v.literal("type", "save_weights_external");
}

Result<std::string> to_json(const ForwardBackwardRequest& x) {
  return write_json(x, "forward_backward request");
}

Result<std::string> to_json(const OptimStepRequest& x) {
  return write_json(x, "optim_step request");
}

std::string to_json(const SaveWeightsRequest& x) {
  return write_json(x);
}

std::string to_json(const LoadWeightsRequest& x) {
  return write_json(x);
}

std::string to_json(const SaveWeightsForSamplerRequest& x) {
  return write_json(x);
}

std::string to_json(const SaveWeightsExternalRequest& x) {
  return write_json(x);
}

template <>
Result<ForwardBackwardRequest> from_json(std::string_view json) {
  return read_json<ForwardBackwardRequest>(json, "forward_backward request", bad_request);
}

template <>
Result<OptimStepRequest> from_json(std::string_view json) {
  return read_json<OptimStepRequest>(json, "optim_step request", bad_request);
}

template <>
Result<SaveWeightsRequest> from_json(std::string_view json) {
  return read_json<SaveWeightsRequest>(json, "save_weights request", bad_request);
}

template <>
Result<LoadWeightsRequest> from_json(std::string_view json) {
  return read_json<LoadWeightsRequest>(json, "load_weights request", bad_request);
}

template <>
Result<SaveWeightsForSamplerRequest> from_json(std::string_view json) {
  return read_json<SaveWeightsForSamplerRequest>(json, "save_weights_for_sampler request",
                                                 bad_request);
}

template <>
Result<SaveWeightsExternalRequest> from_json(std::string_view json) {
  return read_json<SaveWeightsExternalRequest>(json, "save_weights_external request", bad_request);
}

} // namespace tinkaf::wire
