// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json_rest.hpp"
#include "api/wire/rfc3339.hpp"
#include "test/api/wire_examples.hpp"
#include "test/catch.hpp"

#include <string>

using namespace tinkaf;

TEST_CASE("A trace export is pending, ready or failed", "[api][json][rest]") {
  auto answers = test::example_json("trace_export.responses.json");
  REQUIRE(answers.Size() == 3);
  const TraceExportStatus expected[]
      = {TraceExportStatus::pending, TraceExportStatus::ready, TraceExportStatus::failed};
  for (rapidjson::SizeType i = 0; i < 3; ++i) {
    auto json = test::canonical(answers[i]);
    // The canonical form leaves the quotes of names out.
    auto text = i == 0   ? std::string{R"({"status":"pending"})"}
                : i == 1 ? std::string{R"({"status":"ready","url":"https://store.example.org/)"}
                               + R"(t.pftrace?sig=2"})"
                         : std::string{R"({"status":"failed","error":"no events"})"};
    REQUIRE(test::canonical(text) == json);
    auto read = wire::from_json<TraceExportResponse>(text);
    REQUIRE(read.has_value());
    CHECK(read->status == expected[i]);
    CHECK(test::canonical(wire::to_json(*read)) == json);
  }
  CHECK(wire::from_json<TraceExportResponse>(R"({"status":"done"})").error().message
        == R"(trace_export answer: `status` must be "pending", "ready" or "failed")");
}

TEST_CASE("A run is read with its checkpoints and its times", "[api][json][rest]") {
  auto run = wire::from_json<TrainingRun>(test::example("get_training_run.response.json"));
  REQUIRE(run.has_value());
  CHECK(run->training_run_id == "sess-7:train:0");
  CHECK(run->last_request_time == wire::parse_rfc3339("2026-03-04T05:10:00Z"));
  REQUIRE(run->last_checkpoint.has_value());
  CHECK(run->last_checkpoint->checkpoint_type == CheckpointKind::training);
  CHECK(run->last_checkpoint->size_bytes == 40960);
  CHECK(run->last_checkpoint->expires_at == wire::parse_rfc3339("2026-03-05T05:06:07Z"));
  CHECK_FALSE(run->last_sampler_checkpoint.has_value());
  CHECK(run->user_metadata == UserMetadata{{"run", "a1"}});
}

TEST_CASE("Times of answers may be Unix numbers", "[api][json][rest]") {
  auto url = wire::from_json<CheckpointArchiveUrlResponse>(
      R"({"url":"http://x/a","expires":1772600767})");
  REQUIRE(url.has_value());
  CHECK(wire::to_rfc3339(url->expires) == "2026-03-04T05:06:07Z");
}

TEST_CASE("A ttl is removed by an explicit null and by nothing else", "[api][json][rest]") {
  CHECK(wire::to_json(CheckpointTtlRequest{}) == R"({"ttl_seconds":null})");
  CHECK(wire::to_json(CheckpointTtlRequest{std::chrono::hours{1}}) == R"({"ttl_seconds":3600})");
  CHECK(wire::from_json<CheckpointTtlRequest>(R"({"ttl_seconds":null})") == CheckpointTtlRequest{});
  for (const auto* bad : {"{}", R"({"ttl_seconds":"1"})", R"({"ttl_seconds":1.5})", "[]"}) {
    auto read = wire::from_json<CheckpointTtlRequest>(bad);
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error().code == Errc::invalid_argument);
  }
}

TEST_CASE("A bill is read whole or not at all", "[api][json][rest]") {
  auto bill = [](const std::string& info) {
    return wire::from_json<BillingUsageResponse>(
        R"({"data":[{"bucket_start":"2026-03-04T05:00:00Z","bucket_end":"2026-03-04T06:00:00Z",)"
        R"("event_info":)"
        + info + "}]}");
  };
  auto read = bill(R"({"type":"training","token_count":9007199254740993})");
  REQUIRE(read.has_value());
  CHECK(read->data[0].event_info == BillingEventInfo{TrainingUsage{9007199254740993}});
  CHECK(bill(R"({"type":"sampling_sample","token_count":2})").has_value());
  CHECK(bill(R"({"type":"checkpoint","count":1})").has_value());
  for (const auto* bad :
       {R"({"type":"training","token_count":1,"discount":2})", R"({"type":"magic","count":1})",
        R"({"type":"checkpoint"})", R"({"count":1})", "3", "null"}) {
    INFO(bad);
    auto refused = bill(bad);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == Errc::protocol_error);
    CHECK(refused.error().message.find("data[0].event_info") != std::string::npos);
  }
}

TEST_CASE("Errors of REST answers name the field", "[api][json][rest]") {
  auto message = [](const char* json) {
    auto read = wire::from_json<CheckpointsListResponse>(json);
    return read ? std::string{} : read.error().message;
  };
  CHECK(message("{}") == "checkpoints answer: `checkpoints` is missing");
  CHECK(
      message(R"({"checkpoints":[{"checkpoint_id":"weights/a","checkpoint_type":"x",)"
              R"("time":0,"tinker_path":"p"}]})")
      == R"(checkpoints answer: `checkpoints[0].checkpoint_type` must be "training", "sampler" or "external")");
  CHECK(message(R"({"checkpoints":[{"checkpoint_id":"weights/a","checkpoint_type":"sampler",)"
                R"("time":"noon","tinker_path":"p"}]})")
        == "checkpoints answer: `checkpoints[0].time` must be a time of RFC 3339 or a Unix time, "
           "got a string");
}
