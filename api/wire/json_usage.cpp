// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json_rest.hpp"
#include "api/wire/json_time.hpp"

#include <algorithm>
#include <array>
#include <variant>

// The audit log and what an account used.

namespace tinkaf::wire {

namespace {

constexpr auto bad_answer = Errc::protocol_error;

constexpr std::array<std::string_view, 5> event_types{"training", "sampling_prefill",
                                                      "sampling_sample", "checkpoint", "storage"};
static_assert(event_types.size() == std::variant_size_v<BillingEventInfo>);

/// Refuses fields besides `type` and those of `known`.
void refuse_others(JsonReader& v, std::initializer_list<std::string_view> known) {
  for (const auto& member : v.current().GetObject()) {
    auto name = text_of(member.name);
    if (name != "type" && std::find(known.begin(), known.end(), name) == known.end())
      v.within(name, member.value, [&] { v.refuse("is not known"); });
  }
}

} // namespace

template <JsonVisitor V>
void describe(V& v, Visited<V, AuditLogEntry>& x) {
  visit_time(v, "timestamp", x.timestamp);
  v.field("event", x.event);
  v.optional("model_id", x.model_id);
  v.optional("tinker_path", x.tinker_path);
  v.optional("purpose", x.purpose);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, AuditLogResponse>& x) {
  v.field("entries", x.entries);
}

template <JsonVisitor V>
void describe_fields(V& v, Visited<V, TrainingUsage>& x) {
  v.field("token_count", x.token_count);
  if constexpr (!V::writing)
    refuse_others(v, {"token_count"});
}

template <JsonVisitor V>
void describe_fields(V& v, Visited<V, SamplingPrefillUsage>& x) {
  v.field("cached", x.cached);
  v.field("token_count", x.token_count);
  if constexpr (!V::writing)
    refuse_others(v, {"cached", "token_count"});
}

template <JsonVisitor V>
void describe_fields(V& v, Visited<V, SamplingSampleUsage>& x) {
  v.field("token_count", x.token_count);
  if constexpr (!V::writing)
    refuse_others(v, {"token_count"});
}

template <JsonVisitor V>
void describe_fields(V& v, Visited<V, CheckpointUsage>& x) {
  v.field("count", x.count);
  if constexpr (!V::writing)
    refuse_others(v, {"count"});
}

template <JsonVisitor V>
void describe_fields(V& v, Visited<V, StorageUsage>& x) {
  v.field("gigabyte_hours", x.gigabyte_hours);
  if constexpr (!V::writing)
    refuse_others(v, {"gigabyte_hours"});
}

void describe(JsonWriter& v, const BillingEventInfo& x) {
  v.literal("type", event_types[x.index()]);
  std::visit([&v](const auto& usage) { describe_fields(v, usage); }, x);
}

void describe(JsonReader& v, BillingEventInfo& x) {
  std::string type;
  v.field("type", type);
  if (type == event_types[0])
    x = TrainingUsage{};
  else if (type == event_types[1])
    x = SamplingPrefillUsage{};
  else if (type == event_types[2])
    x = SamplingSampleUsage{};
  else if (type == event_types[3])
    x = CheckpointUsage{};
  else if (type == event_types[4])
    x = StorageUsage{};
  else {
    if (const auto* found = v.member("type"))
      v.within("type", *found, [&] {
        v.refuse(R"(must be "training", "sampling_prefill", "sampling_sample", "checkpoint" or )"
                 R"("storage")");
      });
    return;
  }
  std::visit([&v](auto& usage) { describe_fields(v, usage); }, x);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, BillingUsageEvent>& x) {
  visit_time(v, "bucket_start", x.bucket_start);
  visit_time(v, "bucket_end", x.bucket_end);
  v.optional("base_model", x.base_model);
  v.optional("user_id", x.user_id);
  v.optional("user_name", x.user_name);
  v.optional("session_id", x.session_id);
  v.optional("project_id", x.project_id);
  v.field("event_info", x.event_info);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, BillingSession>& x) {
  visit_optional_metadata(v, "user_metadata", x.user_metadata);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, BillingUsageResponse>& x) {
  v.field("data", x.data);
  v.defaulted("sessions", x.sessions);
}

std::string to_json(const AuditLogResponse& x) {
  return write_json(x);
}

Result<std::string> to_json(const BillingUsageResponse& x) {
  return write_json(x, "billing usage answer");
}

template <>
Result<AuditLogResponse> from_json(std::string_view json) {
  return read_json<AuditLogResponse>(json, "audit answer", bad_answer);
}

template <>
Result<BillingUsageResponse> from_json(std::string_view json) {
  return read_json<BillingUsageResponse>(json, "billing usage answer", bad_answer);
}

} // namespace tinkaf::wire
