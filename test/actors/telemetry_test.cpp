// SPDX-License-Identifier: Apache-2.0
#include "actors/telemetry.hpp"

#include "actors/http_actor.hpp"
#include "actors/poller_supervisor.hpp"
#include "api/endpoint.hpp"
#include "api/headers.hpp"
#include "api/wire/json.hpp"
#include "test/actors/actor_fixture.hpp"
#include "test/actors/scripted_transport.hpp"

#include <deque>

using namespace std::chrono_literals;
using namespace tinkaf;

namespace {

struct Fixture : test::ActorFixture {
  std::shared_ptr<test::ScriptedTransport> transport
      = std::make_shared<test::ScriptedTransport>([this](const HttpRequest&) { return reply; });
  HttpActor http = spawn(http_actor, transport, HttpActorSettings{.credential = "tml-hush"});
  TelemetryActor actor
      = spawn(telemetry, http, TelemetrySettings{.session_id = "session-1", .max_queue = 1'000});

  /// What the service answers; nothing for silence.
  std::optional<Result<HttpResponse>> reply = test::json(200, R"({"status":"accepted"})");

  void report(int count = 1) {
    for (int i = 0; i < count; ++i)
      caf::anon_send(actor, TelemetryReport{.name = "user_error"});
    run();
  }

  [[nodiscard]] TelemetryStatus status() {
    auto answer = ask<TelemetryStatus>(actor, atom::status_v);
    run();
    return (*answer)->value();
  }

  [[nodiscard]] std::vector<TelemetrySendRequest> batches() const {
    std::vector<TelemetrySendRequest> result;
    for (const auto& sent : transport->sent)
      if (sent.request.path == path(Endpoint::telemetry))
        result.push_back(wire::from_json<TelemetrySendRequest>(*sent.request.body).value());
    return result;
  }

  test::Answer<bool> drain(std::chrono::milliseconds limit = 2s) {
    auto answer = ask<bool>(actor, atom::drain_v, caf::timespan{limit});
    run();
    return answer;
  }
};

} // namespace

TEST_CASE_METHOD(Fixture, "Events go out every ten seconds, a hundred at a time",
                 "[actors][telemetry]") {
  report(250);
  pass(9'999ms);
  CHECK(batches().empty());
  pass(1ms);
  auto sent = batches();
  REQUIRE(sent.size() == 2); // the last fifty wait for company
  CHECK(sent[0].events.size() == 100);
  CHECK(sent[1].events.front().event_session_index == 100);
  CHECK(sent[0].session_id == "session-1");
  CHECK(transport->sent[0].request.timeout == 5s);
  pass(10s);
  REQUIRE(batches().size() == 3);
  CHECK(batches()[2].events.size() == 50);
  CHECK(status() == TelemetryStatus{.sent = 250});
}

TEST_CASE_METHOD(Fixture, "An exception is reported at once", "[actors][telemetry]") {
  caf::anon_send(actor, TelemetryReport{.kind = TelemetryKind::unhandled_exception});
  run();
  CHECK(batches().size() == 1);
}

TEST_CASE_METHOD(Fixture, "A failed batch is tried again after growing pauses, then dropped",
                 "[actors][telemetry]") {
  reply = test::json(503, "{}");
  report(3);
  pass(10s);
  CHECK(batches().size() == 1);
  for (auto pause : {1s, 2s, 4s, 8s}) {
    auto before = batches().size();
    pass(pause - 1ms);
    CHECK(batches().size() == before);
    pass(1ms);
    CHECK(batches().size() == before + 1);
    CHECK(batches().back().events == batches().front().events);
  }
  CHECK(status() == TelemetryStatus{.dropped = 3});
  reply = test::json(200, "{}");
  report();
  pass(30s);
  CHECK(status() == TelemetryStatus{.sent = 1, .dropped = 3});
}

TEST_CASE_METHOD(Fixture, "A service that never answers fills the queue and no more",
                 "[actors][telemetry]") {
  reply.reset();
  report(100);
  pass(10s);
  REQUIRE(batches().size() == 1);
  report(1'500);
  CHECK(status() == TelemetryStatus{.queued = 1'100, .dropped = 500});
}

TEST_CASE_METHOD(Fixture, "A service that wants no telemetry gets no more of it",
                 "[actors][telemetry]") {
  reply = test::json(404, "{}");
  report(150);
  pass(10s);
  report();
  pass(10min);
  CHECK(batches().size() == 1);
  CHECK(status() == TelemetryStatus{.enabled = false, .dropped = 151});
}

TEST_CASE_METHOD(Fixture, "A drain sends all that waits", "[actors][telemetry]") {
  CHECK((*drain())->value());
  report(250);
  auto drained = drain();
  REQUIRE(drained->has_value());
  CHECK((*drained)->value());
  CHECK(batches().size() == 3);
}

TEST_CASE_METHOD(Fixture, "A drain ends at its limit, or with the first failure",
                 "[actors][telemetry]") {
  report();
  SECTION("while the service is silent") {
    reply.reset();
    auto drained = drain(2s);
    pass(1'999ms);
    CHECK_FALSE(drained->has_value());
    pass(1ms);
    REQUIRE(drained->has_value());
    CHECK_FALSE((*drained)->value());
  }
  SECTION("while the service fails") {
    reply = test::json(500, "{}");
    auto drained = drain(2s);
    REQUIRE(drained->has_value());
    CHECK_FALSE((*drained)->value());
  }
}

TEST_CASE_METHOD(Fixture, "A call that fails for good is reported without its words",
                 "[actors][telemetry]") {
  caf::anon_send(http, atom::report_to_v, actor);
  auto fail_with = [this](Result<HttpResponse> answer) {
    reply = std::move(answer);
    (void)ask<HttpResponse>(http,
                            HttpCall{"optim_step",
                                     make_request(Endpoint::optim_step, R"({"text":"my prompt"})",
                                                  make_idempotency_key()),
                                     RetryPolicy{.max_attempts = 1}});
    run();
  };
  fail_with(test::json(400, R"({"detail":"my prompt with tml-hush is bad"})"));
  fail_with(test::json(503, "my prompt"));
  reply = test::json(200, "{}");
  pass(10s);
  auto sent_batches = batches();
  REQUIRE(sent_batches.size() == 1);
  const auto& events = sent_batches[0].events;
  REQUIRE(events.size() == 2);
  CHECK(events[0].event_name == "user_error");
  CHECK(events[0].severity == TelemetrySeverity::warning);
  CHECK(events[0].event_data.find(R"("status_code":400)") != std::string::npos);
  CHECK(events[0].event_data.find(R"("endpoint":"optim_step")") != std::string::npos);
  CHECK(events[1].event_name == "http_call.failed");
  for (const auto& sent : transport->sent) {
    if (sent.request.path != path(Endpoint::telemetry))
      continue;
    CHECK(sent.request.body->find("prompt") == std::string::npos);
    CHECK(sent.request.body->find("hush") == std::string::npos);
  }
}

TEST_CASE_METHOD(Fixture, "A result that fails for good is reported without its words",
                 "[actors][telemetry]") {
  auto supervisor = spawn(poller_supervisor, http, PollerSettings{}, RestartPolicy{});
  caf::anon_send(supervisor, atom::report_to_v, actor);
  reply = test::json(200, R"({"error":"my prompt with tml-hush is bad","category":"user"})");
  auto answer = ask<FutureValue>(supervisor,
                                 PollJob{{"req-7", {}}, RequestType::optim_step, now() - 3s, {}});
  run();
  REQUIRE(answer->has_value());
  CHECK((*answer)->error().message.find("my prompt") != std::string::npos);
  reply = test::json(200, "{}");
  pass(10s);
  auto sent_batches = batches();
  REQUIRE(sent_batches.size() == 1);
  REQUIRE(sent_batches[0].events.size() == 1);
  const auto& event = sent_batches[0].events[0];
  CHECK(event.event_name == "future.failed");
  for (const auto* fact : {R"("request_id":"req-7")", R"("endpoint":"OptimStep")",
                           R"("error_type":"request_failed")", R"("elapsed_ms":3000)"})
    CHECK(event.event_data.find(fact) != std::string::npos);
  CHECK(event.event_data.find("prompt") == std::string::npos);
  CHECK(event.event_data.find("hush") == std::string::npos);
}

TEST_CASE_METHOD(Fixture, "A credential does not get out, whatever it looks like",
                 "[actors][telemetry]") {
  auto other = spawn(http_actor, transport, HttpActorSettings{.credential = "eyJ-odd"});
  auto odd = spawn(telemetry, other, TelemetrySettings{.session_id = "eyJ-odd"});
  caf::anon_send(odd, TelemetryReport{.kind = TelemetryKind::unhandled_exception});
  run();
  REQUIRE(transport->sent.size() == 1);
  CHECK(transport->sent[0].request.body->find("odd") == std::string::npos);
}
