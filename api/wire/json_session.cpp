// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json.hpp"
#include "api/wire/json_describe.hpp"

// Sessions, models, capabilities.

namespace tinkaf::wire {

namespace {

constexpr auto bad_request = Errc::invalid_argument;
constexpr auto bad_answer = Errc::protocol_error;

} // namespace

template <JsonVisitor V>
void describe(V& v, Visited<V, ClientConfigRequest>& x) {
  v.field("sdk_version", x.sdk_version);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, ClientConfig>& x) {
  v.defaulted("pjwt_auth_enabled", x.pjwt_auth_enabled);
  v.defaulted("credential_default_source", x.credential_default_source);
  v.defaulted("sample_dispatch_bytes_semaphore_size", x.sample_dispatch_bytes_semaphore_size);
  v.defaulted("inflight_response_bytes_semaphore_size", x.inflight_response_bytes_semaphore_size);
  v.defaulted("parallel_fwdbwd_chunks", x.parallel_fwdbwd_chunks);
  v.defaulted("proto_compress_fwdbwd", x.proto_compress_fwdbwd);
  v.defaulted("fwdbwd_max_chunk_len", x.fwdbwd_max_chunk_len);
  v.defaulted("fwdbwd_max_chunk_bytes_count", x.fwdbwd_max_chunk_bytes_count);
  v.defaulted("fwdbwd_dispatch_bytes_semaphore_size", x.fwdbwd_dispatch_bytes_semaphore_size);
  auto pause = static_cast<std::int64_t>(x.billing_exception_max_pause_duration.count());
  v.defaulted("billing_exception_max_pause_duration_sec", pause);
  if constexpr (!V::writing)
    x.billing_exception_max_pause_duration = std::chrono::seconds{pause};
  v.defaulted("sample_no_retries", x.sample_no_retries);
  v.defaulted("sample_enable_stuck_detection", x.sample_enable_stuck_detection);
  v.defaulted("sample_max_concurrent_requests", x.sample_max_concurrent_requests);
  v.defaulted("use_pyqwest_transport", x.use_pyqwest_transport);
  v.defaulted("create_model_via_load_weights", x.create_model_via_load_weights);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, CreateSessionRequest>& x) {
  v.field("tags", x.tags);
  visit_metadata(v, "user_metadata", x.user_metadata);
  v.field("sdk_version", x.sdk_version);
  v.optional("project_id", x.project_id);
  v.optional("display_name", x.display_name);
  v.literal("type", "create_session");
}

template <JsonVisitor V>
void describe(V& v, Visited<V, CreateSessionResponse>& x) {
  v.literal("type", "create_session");
  v.field("session_id", x.session_id);
  v.optional("info_message", x.info_message);
  v.optional("warning_message", x.warning_message);
  v.optional("error_message", x.error_message);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, SessionHeartbeatRequest>& x) {
  v.field("session_id", x.session_id);
  v.literal("type", "session_heartbeat");
}

template <JsonVisitor V>
void describe(V& v, Visited<V, SessionHeartbeatResponse>&) {
  v.literal("type", "session_heartbeat");
}

template <JsonVisitor V>
void describe(V& v, Visited<V, LoraConfig>& x) {
  v.field("rank", x.rank);
  v.optional("seed", x.seed);
  v.defaulted("train_unembed", x.train_unembed);
  v.defaulted("train_mlp", x.train_mlp);
  v.defaulted("train_attn", x.train_attn);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, CreateModelRequest>& x) {
  v.field("session_id", x.session_id);
  v.field("model_seq_id", x.model_seq_id);
  v.field("base_model", x.base_model);
  visit_optional_metadata(v, "user_metadata", x.user_metadata);
  v.optional("lora_config", x.lora_config);
  v.literal("type", "create_model");
}

template <JsonVisitor V>
void describe(V& v, Visited<V, GetInfoRequest>& x) {
  v.field("model_id", x.model_id);
  v.literal("type", "get_info");
}

template <JsonVisitor V>
void describe(V& v, Visited<V, ModelInfo>& x) {
  v.literal("type", "get_info");
  v.object("model_data", [&x](V& data) {
    data.unless_empty("arch", x.arch);
    data.unless_empty("model_name", x.model_name);
    data.unless_empty("tokenizer_id", x.tokenizer_id);
  });
  v.field("model_id", x.model_id);
  v.optional("is_lora", x.is_lora);
  v.optional("lora_rank", x.lora_rank);
  if constexpr (V::writing) {
    v.unless_empty("model_name", x.model_name);
  } else {
    if (x.model_name.empty())
      v.defaulted("model_name", x.model_name);
    x.tokenizer_id = x.tokenizer_id.substr(0, x.tokenizer_id.find(':'));
  }
}

template <JsonVisitor V>
void describe(V& v, Visited<V, UnloadModelRequest>& x) {
  v.field("model_id", x.model_id);
  v.literal("type", "unload_model");
}

template <JsonVisitor V>
void describe(V& v, Visited<V, SupportedModel>& x) {
  v.unless_empty("model_name", x.model_name);
  v.optional("max_context_length", x.max_context_length);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, ServerCapabilities>& x) {
  v.field("supported_models", x.supported_models);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, CreateSamplingSessionRequest>& x) {
  v.field("session_id", x.session_id);
  v.field("sampling_session_seq_id", x.sampling_session_seq_id);
  v.optional("base_model", x.base_model);
  v.optional("model_path", x.model_path);
  v.literal("type", "create_sampling_session");
}

template <JsonVisitor V>
void describe(V& v, Visited<V, CreateSamplingSessionResponse>& x) {
  v.literal("type", "create_sampling_session");
  v.field("sampling_session_id", x.sampling_session_id);
}

// clang-format off
std::string to_json(const ClientConfigRequest& x) { return write_json(x); }
std::string to_json(const ClientConfig& x) { return write_json(x); }
std::string to_json(const CreateSessionRequest& x) { return write_json(x); }
std::string to_json(const CreateSessionResponse& x) { return write_json(x); }
std::string to_json(const SessionHeartbeatRequest& x) { return write_json(x); }
std::string to_json(const SessionHeartbeatResponse& x) { return write_json(x); }
std::string to_json(const CreateModelRequest& x) { return write_json(x); }
std::string to_json(const GetInfoRequest& x) { return write_json(x); }
std::string to_json(const ModelInfo& x) { return write_json(x); }
std::string to_json(const UnloadModelRequest& x) { return write_json(x); }
std::string to_json(const ServerCapabilities& x) { return write_json(x); }
std::string to_json(const CreateSamplingSessionRequest& x) { return write_json(x); }
std::string to_json(const CreateSamplingSessionResponse& x) { return write_json(x); }
// clang-format on

template <>
Result<ClientConfigRequest> from_json(std::string_view json) {
  return read_json<ClientConfigRequest>(json, "client config request", bad_request);
}

template <>
Result<ClientConfig> from_json(std::string_view json) {
  return read_json<ClientConfig>(json, "client config answer", bad_answer);
}

template <>
Result<CreateSessionRequest> from_json(std::string_view json) {
  return read_json<CreateSessionRequest>(json, "create_session request", bad_request);
}

template <>
Result<CreateSessionResponse> from_json(std::string_view json) {
  return read_json<CreateSessionResponse>(json, "create_session answer", bad_answer);
}

template <>
Result<SessionHeartbeatRequest> from_json(std::string_view json) {
  return read_json<SessionHeartbeatRequest>(json, "session_heartbeat request", bad_request);
}

template <>
Result<SessionHeartbeatResponse> from_json(std::string_view json) {
  return read_json<SessionHeartbeatResponse>(json, "session_heartbeat answer", bad_answer);
}

template <>
Result<CreateModelRequest> from_json(std::string_view json) {
  return read_json<CreateModelRequest>(json, "create_model request", bad_request);
}

template <>
Result<GetInfoRequest> from_json(std::string_view json) {
  return read_json<GetInfoRequest>(json, "get_info request", bad_request);
}

template <>
Result<ModelInfo> from_json(std::string_view json) {
  return read_json<ModelInfo>(json, "get_info answer", bad_answer);
}

template <>
Result<UnloadModelRequest> from_json(std::string_view json) {
  return read_json<UnloadModelRequest>(json, "unload_model request", bad_request);
}

template <>
Result<ServerCapabilities> from_json(std::string_view json) {
  return read_json<ServerCapabilities>(json, "get_server_capabilities answer", bad_answer);
}

template <>
Result<CreateSamplingSessionRequest> from_json(std::string_view json) {
  return read_json<CreateSamplingSessionRequest>(json, "create_sampling_session request",
                                                 bad_request);
}

template <>
Result<CreateSamplingSessionResponse> from_json(std::string_view json) {
  return read_json<CreateSamplingSessionResponse>(json, "create_sampling_session answer",
                                                  bad_answer);
}

} // namespace tinkaf::wire
