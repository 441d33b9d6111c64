// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json_checkpoints.hpp"

#include "api/wire/json_rest.hpp"

namespace tinkaf::wire {

namespace {

constexpr auto bad_request = Errc::invalid_argument;
constexpr auto bad_answer = Errc::protocol_error;

} // namespace

template <JsonVisitor V>
void describe(V& v, Visited<V, CheckpointsListResponse>& x) {
  v.field("checkpoints", x.checkpoints);
  v.optional("cursor", x.cursor);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, CheckpointTtlRequest>& x) {
  if constexpr (V::writing) {
    v.field("ttl_seconds", x.ttl ? std::optional<std::int64_t>{x.ttl->count()} : std::nullopt);
  } else {
    std::optional<std::int64_t> seconds;
    if (v.current().HasMember("ttl_seconds"))
      v.optional("ttl_seconds", seconds);
    else
      v.miss("ttl_seconds");
    if (seconds)
      x.ttl = std::chrono::seconds{*seconds};
  }
}

template <JsonVisitor V>
void describe(V& v, Visited<V, CheckpointArchiveUrlResponse>& x) {
  v.field("url", x.url);
  visit_time(v, "expires", x.expires);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, WeightsInfoRequest>& x) {
  v.field("tinker_path", x.tinker_path);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, WeightsInfoResponse>& x) {
  v.field("base_model", x.base_model);
  v.field("is_lora", x.is_lora);
  v.optional("lora_rank", x.lora_rank);
  v.optional("train_unembed", x.train_unembed);
  v.optional("train_mlp", x.train_mlp);
  v.optional("train_attn", x.train_attn);
}

// clang-format off
std::string to_json(const Checkpoint& x) { return write_json(x); }
std::string to_json(const CheckpointsListResponse& x) { return write_json(x); }
std::string to_json(const CheckpointTtlRequest& x) { return write_json(x); }
std::string to_json(const CheckpointArchiveUrlResponse& x) { return write_json(x); }
std::string to_json(const WeightsInfoRequest& x) { return write_json(x); }
std::string to_json(const WeightsInfoResponse& x) { return write_json(x); }
// clang-format on

template <>
Result<Checkpoint> from_json(std::string_view json) {
  return read_json<Checkpoint>(json, "checkpoint", bad_answer);
}

template <>
Result<CheckpointsListResponse> from_json(std::string_view json) {
  return read_json<CheckpointsListResponse>(json, "checkpoints answer", bad_answer);
}

template <>
Result<CheckpointTtlRequest> from_json(std::string_view json) {
  return read_json<CheckpointTtlRequest>(json, "ttl request", bad_request);
}

template <>
Result<CheckpointArchiveUrlResponse> from_json(std::string_view json) {
  return read_json<CheckpointArchiveUrlResponse>(json, "archive answer", bad_answer);
}

template <>
Result<WeightsInfoRequest> from_json(std::string_view json) {
  return read_json<WeightsInfoRequest>(json, "weights_info request", bad_request);
}

template <>
Result<WeightsInfoResponse> from_json(std::string_view json) {
  return read_json<WeightsInfoResponse>(json, "weights_info answer", bad_answer);
}

} // namespace tinkaf::wire
