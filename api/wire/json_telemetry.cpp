// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json.hpp"
#include "api/wire/json_describe.hpp"

#include <algorithm>
#include <array>
#include <utility>

// Dynamic configuration, tokens, telemetry.

namespace tinkaf::wire {

namespace {

constexpr auto bad_request = Errc::invalid_argument;
constexpr auto bad_answer = Errc::protocol_error;

/// The largest interval that fits every clock.
constexpr std::int64_t max_interval = 1'000'000'000;

constexpr std::array<std::string_view, 4> kinds{"SESSION_START", "SESSION_END",
                                                "UNHANDLED_EXCEPTION", "GENERIC_EVENT"};
constexpr std::array<std::string_view, 5> severities{"DEBUG", "INFO", "WARNING", "ERROR",
                                                     "CRITICAL"};

/// A value of an enumeration by the names of its values.
template <JsonVisitor V, class Enum, std::size_t N>
void visit_name(V& v, std::string_view field, Enum& x,
                const std::array<std::string_view, N>& names) {
  if constexpr (V::writing) {
    v.field(field, std::string{names.at(static_cast<std::size_t>(x))});
  } else {
    std::string text;
    v.field(field, text);
    const auto* found = std::find(names.begin(), names.end(), text);
    if (found != names.end())
      x = static_cast<Enum>(found - names.begin());
    else if (const auto* member = v.member(field))
      v.within(field, *member, [&] { v.refuse("is not a name that we know"); });
  }
}

/// A JSON object that is kept as text.
template <JsonVisitor V>
void visit_raw_object(V& v, std::string_view name, Visited<V, std::string>& x) {
  if constexpr (V::writing) {
    v.raw(name, x);
  } else if (const auto* found = v.member(name)) {
    v.within(name, *found, [&] {
      if (found->IsObject())
        x = dump(*found);
      else
        v.expected("an object");
    });
  }
}

} // namespace

template <JsonVisitor V>
void describe(V& v, Visited<V, DynamicConfig>& x) {
  auto interval = static_cast<std::int64_t>(x.refresh_interval.count());
  v.defaulted("refresh_interval_sec", interval);
  if constexpr (!V::writing)
    x.refresh_interval = std::chrono::seconds{std::clamp<std::int64_t>(interval, 0, max_interval)};
}

template <JsonVisitor V>
void describe(V&, Visited<V, AuthTokenRequest>&) {}

template <JsonVisitor V>
void describe(V& v, Visited<V, AuthTokenResponse>& x) {
  if constexpr (V::writing) {
    v.field("jwt", x.jwt.reveal());
  } else {
    std::string text;
    v.field("jwt", text);
    x.jwt = std::move(text);
  }
}

template <JsonVisitor V>
void describe(V& v, Visited<V, TelemetryEvent>& x) {
  visit_name(v, "event", x.kind, kinds);
  v.field("event_id", x.event_id);
  v.field("event_session_index", x.event_session_index);
  visit_name(v, "severity", x.severity, severities);
  v.field("timestamp", x.timestamp);
  switch (x.kind) {
  case TelemetryKind::session_start:
    break;
  case TelemetryKind::session_end:
    v.field("duration", x.duration);
    break;
  case TelemetryKind::unhandled_exception:
    v.field("error_type", x.error_type);
    v.field("error_message", x.error_message);
    v.optional("traceback", x.traceback);
    break;
  case TelemetryKind::generic_event:
    v.field("event_name", x.event_name);
    visit_raw_object(v, "event_data", x.event_data);
    break;
  }
}

template <JsonVisitor V>
void describe(V& v, Visited<V, TelemetrySendRequest>& x) {
  v.field("events", x.events);
  v.field("platform", x.platform);
  v.field("sdk_version", x.sdk_version);
  v.field("session_id", x.session_id);
  v.field("process_uuid", x.process_uuid);
}

template <JsonVisitor V>
void describe(V& v, Visited<V, TelemetryResponse>& x) {
  v.field("status", x.status);
}

// clang-format off
std::string to_json(const DynamicConfig& x) { return write_json(x); }
std::string to_json(const AuthTokenRequest& x) { return write_json(x); }
std::string to_json(const AuthTokenResponse& x) { return write_json(x); }
std::string to_json(const TelemetrySendRequest& x) { return write_json(x); }
std::string to_json(const TelemetryResponse& x) { return write_json(x); }
// clang-format on

template <>
Result<DynamicConfig> from_json(std::string_view json) {
  return read_json<DynamicConfig>(json, "dynamic config answer", bad_answer);
}

template <>
Result<AuthTokenRequest> from_json(std::string_view json) {
  return read_json<AuthTokenRequest>(json, "auth/token request", bad_request);
}

template <>
Result<AuthTokenResponse> from_json(std::string_view json) {
  return read_json<AuthTokenResponse>(json, "auth/token answer", bad_answer);
}

template <>
Result<TelemetrySendRequest> from_json(std::string_view json) {
  return read_json<TelemetrySendRequest>(json, "telemetry request", bad_request);
}

template <>
Result<TelemetryResponse> from_json(std::string_view json) {
  return read_json<TelemetryResponse>(json, "telemetry answer", bad_answer);
}

} // namespace tinkaf::wire
