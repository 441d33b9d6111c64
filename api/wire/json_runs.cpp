// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json_checkpoints.hpp"
#include "api/wire/json_rest.hpp"

// Training runs, sessions, samplers.

namespace tinkaf::wire {

namespace {

constexpr auto bad_request = Errc::invalid_argument;
constexpr auto bad_answer = Errc::protocol_error;

constexpr const char* name_of(TraceExportStatus status) noexcept {
  switch (status) {
  case TraceExportStatus::ready:
    return "ready";
  case TraceExportStatus::failed:
    return "failed";
  default:
    return "pending";
  }
}

} // namespace

template <JsonVisitor V>
void describe(V& v, Visited<V, TokenCounts>& x) {
  v.field("train", x.train);
  v.field("prefill", x.prefill);
  v.field("sample", x.sample);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, TrainingRun>& x) {
  v.field("training_run_id", x.training_run_id);
  v.field("base_model", x.base_model);
  v.field("model_owner", x.model_owner);
  v.field("is_lora", x.is_lora);
  v.defaulted("corrupted", x.corrupted);
  v.optional("lora_rank", x.lora_rank);
  visit_time(v, "last_request_time", x.last_request_time);
  v.optional("last_checkpoint", x.last_checkpoint);
  v.optional("last_sampler_checkpoint", x.last_sampler_checkpoint);
  visit_optional_metadata(v, "user_metadata", x.user_metadata);
  v.optional("corrupted_reason", x.corrupted_reason);
  v.optional("live", x.live);
  v.optional("token_counts", x.token_counts);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, TrainingRunsResponse>& x) {
  v.field("training_runs", x.training_runs);
  v.field("cursor", x.cursor);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, ListSessionsResponse>& x) {
  v.field("sessions", x.sessions);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, GetSessionResponse>& x) {
  v.field("training_run_ids", x.training_run_ids);
  v.field("sampler_ids", x.sampler_ids);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, AssignSessionProjectRequest>& x) {
  v.field("project_id", x.project_id);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, GetSamplerResponse>& x) {
  v.field("sampler_id", x.sampler_id);
  v.field("base_model", x.base_model);
  v.optional("model_path", x.model_path);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, TraceExportResponse>& x) {
  if constexpr (V::writing) {
    v.literal("status", name_of(x.status));
  } else {
    std::string text;
    v.field("status", text);
    for (auto status :
         {TraceExportStatus::pending, TraceExportStatus::ready, TraceExportStatus::failed})
      if (text == name_of(status))
        x.status = status;
    if (const auto* found = v.member("status"); found && text != name_of(x.status))
      v.within("status", *found, [&] { v.refuse(R"(must be "pending", "ready" or "failed")"); });
  }
  v.optional("url", x.url);
  v.optional("error", x.error);
}

// clang-format off
std::string to_json(const TrainingRun& x) { return write_json(x); }
std::string to_json(const TrainingRunsResponse& x) { return write_json(x); }
std::string to_json(const ListSessionsResponse& x) { return write_json(x); }
std::string to_json(const GetSessionResponse& x) { return write_json(x); }
std::string to_json(const AssignSessionProjectRequest& x) { return write_json(x); }
std::string to_json(const GetSamplerResponse& x) { return write_json(x); }
std::string to_json(const TraceExportResponse& x) { return write_json(x); }
// clang-format on

template <>
Result<TrainingRun> from_json(std::string_view json) {
  return read_json<TrainingRun>(json, "training run answer", bad_answer);
}

template <>
Result<TrainingRunsResponse> from_json(std::string_view json) {
  return read_json<TrainingRunsResponse>(json, "training_runs answer", bad_answer);
}

template <>
Result<ListSessionsResponse> from_json(std::string_view json) {
  return read_json<ListSessionsResponse>(json, "sessions answer", bad_answer);
}

template <>
Result<GetSessionResponse> from_json(std::string_view json) {
  return read_json<GetSessionResponse>(json, "session answer", bad_answer);
}

template <>
Result<AssignSessionProjectRequest> from_json(std::string_view json) {
  return read_json<AssignSessionProjectRequest>(json, "project request", bad_request);
}

template <>
Result<GetSamplerResponse> from_json(std::string_view json) {
  return read_json<GetSamplerResponse>(json, "sampler answer", bad_answer);
}

template <>
Result<TraceExportResponse> from_json(std::string_view json) {
  return read_json<TraceExportResponse>(json, "trace_export answer", bad_answer);
}

} // namespace tinkaf::wire
