// SPDX-License-Identifier: Apache-2.0
#include "api/telemetry.hpp"

#include "api/wire/json.hpp"
#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace tinkaf;

namespace {

constexpr auto seventh = 7;

TelemetryEvent event(const TelemetryReport& report, std::chrono::microseconds age = 0us) {
  // 2026-03-04 05:06:07 UTC
  return make_event(report, seventh, std::chrono::system_clock::time_point{1'772'600'767'123'456us},
                    age);
}

} // namespace

TEST_CASE("Only listed facts and plain words leave the process", "[api][telemetry]") {
  auto clean = redacted({.name = "user_error",
                         .data = {{"endpoint", "optim_step"},
                                  {"status_code", std::int64_t{400}},
                                  {"message", "my prompt"},
                                  {"X-API-Key", "abc"},
                                  {"error_type", "two words"},
                                  {"category", "tml-secret"},
                                  {"request_id", "eyJhbGciOiJub25lIn0.e30."}}});
  CHECK(clean.data
        == TelemetryData{{"endpoint", "optim_step"},
                         {"status_code", std::int64_t{400}},
                         {"error_type", "<redacted>"},
                         {"category", "<redacted>"},
                         {"request_id", "<redacted>"}});
  CHECK(redacted({.name = "my prompt"}).name == "<redacted>");
  CHECK(redacted({.kind = TelemetryKind::unhandled_exception, .name = "what: my prompt"}).name
        == "<redacted>");
  for (const auto* bad : {"a\"b", "a\\b", "a\nb", "", "\xff", "x-tml-1"})
    CHECK(redacted({.data = {{"endpoint", bad}}}).data.at("endpoint")
          == TelemetryValue{"<redacted>"});
}

TEST_CASE("Events carry what the wire wants of their kind", "[api][telemetry]") {
  auto start = event({.kind = TelemetryKind::session_start});
  CHECK(start.timestamp == "2026-03-04T05:06:07.123456Z");
  CHECK(start.event_session_index == seventh);
  CHECK(start.event_id.size() == 36);
  auto broken = event(broken_part_report("training_client"));
  CHECK(broken.error_type == "actor_broke");
  CHECK(broken.error_message == "training_client broke");
  for (const auto& [age, text] : {std::pair{2'376'644us, "0:00:02.376644"},
                                  {std::chrono::microseconds{25h + 61s}, "1 day, 1:01:01.000000"},
                                  {std::chrono::microseconds{48h}, "2 days, 0:00:00.000000"}})
    CHECK(event({.kind = TelemetryKind::session_end}, age).duration == text);
  auto request = telemetry_request({start, broken, event({.name = "user_error"})}, "session-1");
  CHECK(wire::from_json<TelemetrySendRequest>(wire::to_json(request)) == request);
  CHECK(request.process_uuid == telemetry_request({}, "session-2").process_uuid);
  CHECK(request.sdk_version.find("tinkaf/") == 0);
}

TEST_CASE("Whose fault a failed call is decides its name and severity", "[api][telemetry]") {
  auto name
      = [](const Error& error) { return failed_call_report("/api/v1/asample", error, 5ms).name; };
  CHECK(name({.code = Errc::invalid_argument, .http_status = 400}) == "user_error");
  CHECK(name({.code = Errc::rate_limited, .http_status = 429}) == "user_error");
  CHECK(name({.code = Errc::timeout, .http_status = 408}) == "http_call.failed");
  CHECK(name({.code = Errc::server_error, .http_status = 503}) == "http_call.failed");
  CHECK(name({.code = Errc::request_failed, .category = ErrorCategory::user}) == "user_error");
  auto report = failed_call_report("/api/v1/training_runs/run-1?limit=5",
                                   {.code = Errc::protocol_error, .message = "text"}, 5ms);
  CHECK(report.severity == TelemetrySeverity::error);
  CHECK(report.data.at("endpoint") == TelemetryValue{"training_runs"});
  CHECK(redacted(report) == report);
}

TEST_CASE("A result that fails for good is reported without its words", "[api][telemetry]") {
  auto report = failed_result_report(RequestType::optim_step,
                                     {.code = Errc::request_failed,
                                      .message = "my prompt with tml-hush",
                                      .category = ErrorCategory::user,
                                      .request_id = "req-7"},
                                     5ms);
  CHECK(report.severity == TelemetrySeverity::warning);
  CHECK(report.data
        == TelemetryData{{"category", "user"},
                         {"elapsed_ms", std::int64_t{5}},
                         {"endpoint", "OptimStep"},
                         {"error_type", "request_failed"},
                         {"request_id", "req-7"}});
  CHECK(redacted(report) == report);
}
