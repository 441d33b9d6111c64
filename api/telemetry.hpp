// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "messages/future.hpp"
#include "messages/telemetry.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

// What a client may tell the service about itself. Only what is on a list gets out: names of ours,
// numbers, and words that look like an identifier. Texts of errors, headers, bodies, prompts and
// credentials do not.

namespace tinkaf {

/// The report without all that could be a secret or a user's text: facts under names that are not
/// listed are left out, texts that are no identifiers become "<redacted>".
[[nodiscard]] TelemetryReport redacted(const TelemetryReport& report);

/// An event from what `redacted` leaves of a report.
/// @param index counts the events of the session
/// @param age time since the session began, for the event of its end
[[nodiscard]] TelemetryEvent make_event(const TelemetryReport& report, std::int64_t index,
                                        std::chrono::system_clock::time_point now,
                                        std::chrono::microseconds age);

/// The report of a call that has failed for good: a `user_error` where the service says 400 to 499
/// (408 excepted) or blames the user, else `http_call.failed`.
[[nodiscard]] TelemetryReport failed_call_report(std::string_view request_path, const Error& error,
                                                 std::chrono::milliseconds elapsed);

/// The report of an operation that the service has accepted and that has no result for good: a
/// `future.failed`.
[[nodiscard]] TelemetryReport failed_result_report(RequestType type, const Error& error,
                                                   std::chrono::milliseconds elapsed);

/// A part of ours broke.
/// @param part a name of ours, for example "training_client"
[[nodiscard]] TelemetryReport broken_part_report(std::string_view part);

/// One body for these events.
[[nodiscard]] TelemetrySendRequest telemetry_request(std::vector<TelemetryEvent> events,
                                                     std::string session_id);

} // namespace tinkaf
