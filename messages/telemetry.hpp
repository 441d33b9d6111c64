// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tinkaf {

/// What an event of telemetry is about.
enum class TelemetryKind : std::uint8_t {
  session_start,
  session_end,
  unhandled_exception,
  generic_event,
};

enum class TelemetrySeverity : std::uint8_t { debug, info, warning, error, critical };

/// One fact of an event.
using TelemetryValue = std::variant<bool, std::int64_t, double, std::string>;
using TelemetryData = std::map<std::string, TelemetryValue>;

/// Something that an actor reports. Before it is sent, `redacted` takes out whatever could be a
/// secret or a text of the user's.
struct TelemetryReport {
  TelemetryKind kind = TelemetryKind::generic_event;
  TelemetrySeverity severity = TelemetrySeverity::info;

  /// Name of a generic event, or the type of the error.
  std::string name;

  TelemetryData data;

  friend bool operator==(const TelemetryReport&, const TelemetryReport&) = default;
};

/// One event as it travels; which of the later fields it has depends on its kind.
struct TelemetryEvent {
  TelemetryKind kind = TelemetryKind::generic_event;

  /// A random UUID.
  std::string event_id;

  /// Counts the events of a session, from 0.
  std::int64_t event_session_index = 0;

  TelemetrySeverity severity = TelemetrySeverity::info;

  /// UTC with microseconds, for example "2026-03-04T05:06:07.123456Z".
  std::string timestamp;

  /// Of a generic event; `event_data` is a JSON object as text.
  std::string event_name;
  std::string event_data = "{}";

  /// Of an exception.
  std::string error_type;
  std::string error_message;
  std::optional<std::string> traceback;

  /// Of the end of a session: "H:MM:SS.ffffff", with "N days, " in front if need be.
  std::string duration;

  friend bool operator==(const TelemetryEvent&, const TelemetryEvent&) = default;
};

/// Body of `telemetry`.
struct TelemetrySendRequest {
  /// At most 100.
  std::vector<TelemetryEvent> events;

  /// "Linux", "Darwin" or "Windows".
  std::string platform;

  std::string sdk_version;
  std::string session_id;

  /// A random UUID of the process.
  std::string process_uuid;

  friend bool operator==(const TelemetrySendRequest&, const TelemetrySendRequest&) = default;
};

/// What became of the events of a session.
struct TelemetryStatus {
  bool enabled = true;
  std::uint64_t queued = 0;
  std::uint64_t sent = 0;

  /// Given up: the queue was full, or the service would not take them.
  std::uint64_t dropped = 0;

  friend bool operator==(const TelemetryStatus&, const TelemetryStatus&) = default;
};

} // namespace tinkaf
