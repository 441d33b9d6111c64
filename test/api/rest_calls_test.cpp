// SPDX-License-Identifier: Apache-2.0
#include "api/rest_calls.hpp"

#include "api/rest_path.hpp"
#include "api/wire/rfc3339.hpp"
#include "test/catch.hpp"

#include <algorithm>
#include <string>

using namespace std::chrono_literals;
using namespace tinkaf;

namespace {

const CheckpointRef checkpoint{"sess-7:train:0", "weights/step 1"};

template <class Request>
HttpRequest made(const Request& x) {
  auto call = rest_call(x);
  INFO((call ? "" : to_string(call.error())));
  REQUIRE(call.has_value());
  return call->request;
}

template <class Request>
std::string line(const Request& x) {
  auto request = made(x);
  return request.method + " " + request.path + (request.body ? " " + *request.body : "");
}

template <class Request>
std::string refusal(const Request& x) {
  auto call = rest_call(x);
  REQUIRE_FALSE(call.has_value());
  CHECK(call.error().code == Errc::invalid_argument);
  return call.error().message;
}

Timestamp at(const char* text) {
  return wire::parse_rfc3339(text).value();
}

} // namespace

TEST_CASE("REST calls have the service's methods, paths and parameters", "[api][rest]") {
  CHECK(line(GetTrainingRun{"sess-7:train:0"})
        == "GET /api/v1/training_runs/sess-7:train:0?access_scope=owned");
  CHECK(line(ListTrainingRuns{})
        == "GET /api/v1/training_runs?limit=20&offset=0&access_scope=owned");
  CHECK(line(ListTrainingRuns{5, 10, AccessScope::accessible, "p"})
        == "GET /api/v1/training_runs?limit=5&offset=10&access_scope=accessible&project_id=p");
  CHECK(line(ListCheckpoints{"r"}) == "GET /api/v1/training_runs/r/checkpoints");
  CHECK(line(ListUserCheckpoints{}) == "GET /api/v1/checkpoints?limit=100&offset=0");
  const std::string base = "/api/v1/training_runs/sess-7:train:0/checkpoints/weights/step%201";
  CHECK(line(DeleteCheckpoint{checkpoint}) == "DELETE " + base);
  CHECK(line(PublishCheckpoint{checkpoint}) == "POST " + base + "/publish");
  CHECK(line(UnpublishCheckpoint{checkpoint}) == "DELETE " + base + "/publish");
  CHECK(line(SetCheckpointTtl{checkpoint, 60s}) == "PUT " + base + R"(/ttl {"ttl_seconds":60})");
  CHECK(line(SetCheckpointTtl{checkpoint, {}}) == "PUT " + base + R"(/ttl {"ttl_seconds":null})");
  CHECK(line(GetCheckpointArchiveUrl{checkpoint}) == "GET " + base + "/archive");
  CHECK(line(WeightsInfoRequest{"tinker://r/weights/a"})
        == R"(POST /api/v1/weights_info {"tinker_path":"tinker://r/weights/a"})");
  CHECK(line(GetSession{"s"}) == "GET /api/v1/sessions/s?access_scope=owned");
  CHECK(line(ListSessions{}) == "GET /api/v1/sessions?limit=20&offset=0&access_scope=owned");
  CHECK(line(AssignSessionProject{"s", "p"})
        == R"(PUT /api/v1/sessions/s/project {"project_id":"p"})");
  CHECK(line(ExportSessionTrace{"s"}) == "GET /api/v1/sessions/s/trace_export");
  CHECK(line(GetSampler{"s:sample:0"}) == "GET /api/v1/samplers/s:sample:0");
  CHECK(line(GetAuditLog{}) == "GET /api/v1/audit?event_type=all");
  CHECK(line(GetAuditLog{AuditEventType::checkpoints, std::chrono::year{2026} / 3 / 4})
        == "GET /api/v1/audit?event_type=checkpoints&day=2026-03-04");
  CHECK(line(GetBillingUsage{at("2026-03-04T05:00:00Z"), at("2026-03-04T07:00:00+01:00")})
        == "GET /api/v1/billing/usage/events?starting_on=2026-03-04T05%3A00%3A00Z"
           "&ending_before=2026-03-04T06%3A00%3A00Z");
}

TEST_CASE("Only calls that change something carry an idempotency key", "[api][rest]") {
  auto has_key = [](const HttpRequest& request) {
    return std::any_of(request.headers.begin(), request.headers.end(),
                       [](const auto& header) { return header.first == "X-Idempotency-Key"; });
  };
  CHECK(has_key(made(PublishCheckpoint{checkpoint})));
  CHECK(has_key(made(DeleteCheckpoint{checkpoint})));
  CHECK_FALSE(has_key(made(ListCheckpoints{"r"})));
  CHECK_FALSE(made(GetCheckpointArchiveUrl{checkpoint}).follow_redirects);
}

TEST_CASE("No id leaves its place in the path", "[api][rest]") {
  CHECK(line(GetSession{"a/../../b?x=1#y"})
        == "GET /api/v1/sessions/a%2F..%2F..%2Fb%3Fx%3D1%23y?access_scope=owned");
  CHECK(line(ListCheckpoints{"a%2Fb c"}) == "GET /api/v1/training_runs/a%252Fb%20c/checkpoints");
  CHECK(line(GetSampler{"\xC3\xA4"}) == "GET /api/v1/samplers/%C3%A4");
  CHECK(
      line(ListTrainingRuns{1, 0, AccessScope::owned, "p&limit=9"})
      == "GET /api/v1/training_runs?limit=1&offset=0&access_scope=owned&project_id=p%26limit%3D9");
  CHECK(refusal(GetSession{".."}) == "session_id is `..`, which is no id");
  for (const auto* odd : {"a/b", "a/../../b", "tinker://run-1/weights/a", "a\r\nb"}) {
    auto text = refusal(GetTrainingRun{odd});
    CHECK(text.find("training_run_id is `" + std::string{odd} + "`, but must be a run's id") == 0);
    CHECK(text.find("<session id>:train:0") != std::string::npos);
  }
  CHECK(refusal(DeleteCheckpoint{{"r", "weights/.."}})
        == "the name in checkpoint_id is `..`, which is no id");
}

TEST_CASE("Bad arguments of REST calls are refused by name", "[api][rest]") {
  CHECK(refusal(GetTrainingRun{""}) == "training_run_id is empty");
  CHECK(refusal(ListCheckpoints{""}) == "training_run_id is empty");
  CHECK(refusal(GetCheckpointArchiveUrl{{"", "weights/a"}}) == "training_run_id is empty");
  CHECK(refusal(GetCheckpointArchiveUrl{{"r", ""}}) == "checkpoint_id is empty");
  for (const auto* id : {"step-1", "weights", "models/a", "weights/a/b", "/a"})
    CHECK(refusal(PublishCheckpoint{{"r", id}})
          == std::string{"checkpoint_id is `"} + id
                 + "`, but must be weights/<name> or sampler_weights/<name>");
  CHECK(refusal(ListTrainingRuns{0}) == "limit is 0, but must be at least 1");
  CHECK(refusal(ListUserCheckpoints{1, -1}) == "offset is -1, but must be at least 0");
  CHECK(refusal(ListSessions{-5}) == "limit is -5, but must be at least 1");
  CHECK(refusal(SetCheckpointTtl{checkpoint, 0s}).find("ttl is 0 s") == 0);
  CHECK(refusal(SetCheckpointTtl{checkpoint, -1s}).find("ttl is -1 s") == 0);
  CHECK(refusal(WeightsInfoRequest{"weights/a"}).find("tinker://") != std::string::npos);
  CHECK(refusal(AssignSessionProject{"s", ""}).find("project_id is empty") == 0);
  CHECK(refusal(GetAuditLog{AuditEventType::all, std::chrono::year{2026} / 2 / 30})
        == "day is no day of the calendar");
}

TEST_CASE("A bill is asked for in whole hours and for two weeks at most", "[api][rest]") {
  auto start = at("2026-03-04T05:00:00Z");
  CHECK(rest_call(GetBillingUsage{start, start + std::chrono::days{14}}).has_value());
  CHECK(refusal(GetBillingUsage{start + 1min, start + 2h})
        == "starting_on is 2026-03-04T05:01:00Z, but must be a whole hour");
  CHECK(refusal(GetBillingUsage{start, start + 2h + 1us})
        == "ending_before is 2026-03-04T07:00:00.000001Z, but must be a whole hour");
  CHECK(refusal(GetBillingUsage{start, start}).find("must be before ending_before")
        != std::string::npos);
  CHECK(refusal(GetBillingUsage{start, start + std::chrono::days{14} + 1h}).find("14 days")
        != std::string::npos);
}

TEST_CASE("An archive's URL comes as a redirect or as a body", "[api][rest]") {
  const std::string asked = "https://host/x/api/v1/archive";
  auto now = at("2026-03-04T05:00:00Z");
  auto read = [&](HttpResponse response) { return read_archive_url(response, asked, now); };
  auto redirect = HttpResponse{302, {{"location", "https://store/a.tar?sig=1"}}, ""};
  CHECK(read(redirect) == CheckpointArchiveUrlResponse{"https://store/a.tar?sig=1", now + 15min});
  redirect.headers.emplace_back("expires", "Wed, 04 Mar 2026 06:00:00 GMT");
  CHECK(read(redirect)->expires == now + 1h);
  redirect.headers[1].second = "soon";
  CHECK(read(redirect)->expires == now + 15min);
  CHECK(read({302, {{"location", "/a.tar"}}, ""})->url == "https://host/a.tar");
  CHECK(read({200, {}, R"({"url":"https://store/b","expires":"2026-03-04T06:00:00Z"})"})
        == CheckpointArchiveUrlResponse{"https://store/b", now + 1h});
  for (const auto& bad :
       {HttpResponse{302, {}, ""}, HttpResponse{302, {{"location", ""}}, ""},
        HttpResponse{302, {{"location", "file:///etc/passwd"}}, ""},
        HttpResponse{302, {{"location", "http://store/secret-signature"}}, ""},
        HttpResponse{200, {}, R"({"url":"ftp://x","expires":0})"}, HttpResponse{200, {}, "{}"}}) {
    auto refused = read(bad);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == Errc::protocol_error);
    CHECK(refused.error().message.find("secret-signature") == std::string::npos);
  }
}
