// SPDX-License-Identifier: Apache-2.0
#include "api/telemetry.hpp"

#include "api/endpoint.hpp"
#include "api/headers.hpp"
#include "api/retry_policy.hpp"
#include "api/version.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace tinkaf {

namespace {

constexpr std::string_view blotted = "<redacted>";
constexpr std::size_t longest_word = 80;

constexpr std::array<std::string_view, 4> known_events{"future.failed", "http_call.failed",
                                                       "session.lost", "user_error"};
constexpr std::array<std::string_view, 8> known_facts{"ambiguous",  "attempts",   "category",
                                                      "elapsed_ms", "endpoint",   "error_type",
                                                      "request_id", "status_code"};

template <std::size_t N>
bool holds(const std::array<std::string_view, N>& names, std::string_view name) noexcept {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// True for a word such as "optim_step" or a UUID, and for no credential.
bool is_identifier(std::string_view text) noexcept {
  constexpr std::string_view marks = "_.:/-";
  auto plain = std::all_of(text.begin(), text.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || marks.find(c) != marks.npos;
  });
  return plain && !text.empty() && text.size() <= longest_word
         && text.find("tml-") == std::string_view::npos
         && text.find("eyJ") == std::string_view::npos;
}

std::string identifier(std::string_view text) {
  return std::string{is_identifier(text) ? text : blotted};
}

std::string as_json(const TelemetryData& data) {
  std::string json = "{";
  for (const auto& [name, value] : data) {
    json += fmt::format("{}\"{}\":", json.size() > 1 ? "," : "", name);
    if (const auto* flag = std::get_if<bool>(&value))
      json += *flag ? "true" : "false";
    else if (const auto* whole = std::get_if<std::int64_t>(&value))
      json += fmt::format("{}", *whole);
    else if (const auto* text = std::get_if<std::string>(&value))
      json += fmt::format("\"{}\"", *text); // an identifier: nothing in it needs an escape
    else
      json += "null";
  }
  return json + "}";
}

std::string text_of(const TelemetryData& data, const std::string& name) {
  auto found = data.find(name);
  if (found == data.end())
    return {};
  const auto* text = std::get_if<std::string>(&found->second);
  return text != nullptr ? *text : std::string{};
}

std::string timestamp_text(std::chrono::system_clock::time_point time) {
  auto micros = std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch());
  auto seconds = std::chrono::floor<std::chrono::seconds>(micros);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z",
                     fmt::gmtime(static_cast<std::time_t>(seconds.count())),
                     (micros - seconds).count());
}

/// As the official SDK writes it, which is not ISO 8601.
std::string duration_text(std::chrono::microseconds time) {
  auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  auto total = seconds.count();
  constexpr std::int64_t day = 86'400;
  auto days = total / day;
  auto head = days > 0 ? fmt::format("{} day{}, ", days, days == 1 ? "" : "s") : std::string{};
  return fmt::format("{}{}:{:02}:{:02}.{:06}", head, total % day / 3600, total % 3600 / 60,
                     total % 60, (time - seconds).count());
}

/// What failed, and how.
TelemetryData facts_of(const Error& error, std::string what, std::chrono::milliseconds elapsed) {
  TelemetryData data{{"category", to_string(error.category)},
                     {"elapsed_ms", std::int64_t{elapsed.count()}},
                     {"endpoint", std::move(what)},
                     {"error_type", to_string(error.code)}};
  if (error.http_status != 0)
    data.emplace("status_code", std::int64_t{error.http_status});
  if (!error.request_id.empty())
    data.emplace("request_id", error.request_id);
  return data;
}

/// One for all sessions of the process.
const std::string& process_uuid() {
  static const auto uuid = make_idempotency_key();
  return uuid;
}

} // namespace

TelemetryReport redacted(const TelemetryReport& report) {
  TelemetryReport result{report.kind, report.severity, {}, {}};
  if (report.kind == TelemetryKind::generic_event)
    result.name = holds(known_events, report.name) ? report.name : std::string{blotted};
  else if (!report.name.empty())
    result.name = identifier(report.name);
  for (const auto& [name, value] : report.data) {
    if (!holds(known_facts, name))
      continue;
    const auto* text = std::get_if<std::string>(&value);
    result.data.emplace(name, text != nullptr ? TelemetryValue{identifier(*text)} : value);
  }
  return result;
}

TelemetryEvent make_event(const TelemetryReport& report, std::int64_t index,
                          std::chrono::system_clock::time_point now,
                          std::chrono::microseconds age) {
  auto clean = redacted(report);
  TelemetryEvent event{.kind = clean.kind,
                       .event_id = make_idempotency_key(),
                       .event_session_index = index,
                       .severity = clean.severity,
                       .timestamp = timestamp_text(now)};
  switch (clean.kind) {
  case TelemetryKind::session_start:
    break;
  case TelemetryKind::session_end:
    event.duration = duration_text(age);
    break;
  case TelemetryKind::unhandled_exception:
    event.error_type = clean.name;
    event.error_message = fmt::format("{} broke", text_of(clean.data, "endpoint"));
    break;
  case TelemetryKind::generic_event:
    event.event_name = clean.name;
    event.event_data = as_json(clean.data);
    break;
  }
  return event;
}

TelemetryReport failed_call_report(std::string_view request_path, const Error& error,
                                   std::chrono::milliseconds elapsed) {
  auto refused = error.http_status >= 400 && error.http_status < 500 && error.http_status != 408;
  auto of_user = refused || error.category == ErrorCategory::user;
  auto retryable = is_worth_retrying(error, true);
  TelemetryReport report{TelemetryKind::generic_event,
                         of_user || retryable ? TelemetrySeverity::warning
                                              : TelemetrySeverity::error,
                         of_user ? "user_error" : "http_call.failed",
                         facts_of(error, endpoint_name(request_path), elapsed)};
  report.data.emplace("ambiguous", error.ambiguous);
  report.data.emplace("attempts", std::int64_t{error.attempts});
  return report;
}

TelemetryReport failed_result_report(RequestType type, const Error& error,
                                     std::chrono::milliseconds elapsed) {
  return {TelemetryKind::generic_event,
          is_user_error(error) ? TelemetrySeverity::warning : TelemetrySeverity::error,
          "future.failed", facts_of(error, to_string(type), elapsed)};
}

TelemetryReport broken_part_report(std::string_view part) {
  return {TelemetryKind::unhandled_exception,
          TelemetrySeverity::error,
          "actor_broke",
          {{"endpoint", std::string{part}}}};
}

TelemetrySendRequest telemetry_request(std::vector<TelemetryEvent> events, std::string session_id) {
  return {.events = std::move(events),
          .platform = "Linux",
          .sdk_version = user_agent(),
          .session_id = std::move(session_id),
          .process_uuid = process_uuid()};
}

} // namespace tinkaf
