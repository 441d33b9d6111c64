// SPDX-License-Identifier: Apache-2.0
#include "actors/http_actor.hpp"

#include "api/endpoint.hpp"
#include "api/headers.hpp"
#include "test/actors/actor_fixture.hpp"
#include "test/actors/scripted_transport.hpp"

#include <algorithm>
#include <deque>

using namespace std::chrono_literals;
using namespace tinkaf;

namespace {

struct Fixture : test::ActorFixture {
  std::deque<Result<HttpResponse>> replies;
  std::vector<Notice> notices;
  HttpHeaders default_headers{{"X-Mine", "1"}, {"Accept", "text/mine"}};
  std::optional<TraceContext> trace = TraceContext::create({.enabled = true}).value();
  std::shared_ptr<test::ScriptedTransport> transport = std::make_shared<test::ScriptedTransport>(
      [this](const HttpRequest&) -> std::optional<Result<HttpResponse>> {
        if (replies.empty())
          return std::nullopt;
        auto next = std::move(replies.front());
        replies.pop_front();
        return next;
      });
  HttpActor http = spawn(
      http_actor, transport,
      HttpActorSettings{
          .credential = "tml-secret",
          .default_headers = default_headers,
          .trace = trace,
          .notices = [this](const Notice& x) { notices.push_back(x); },
          .wall_clock
          = [this] { return std::chrono::system_clock::time_point{now().time_since_epoch()}; }});

  test::Answer<HttpResponse> call(bool idempotent = true) {
    auto answer = ask<HttpResponse>(
        http,
        HttpCall{"optim_step", make_request(Endpoint::optim_step, "{}", make_idempotency_key()),
                 RetryPolicy{.first_delay = 500ms, .jitter = 0.0, .budget = 60s}, idempotent});
    run();
    return answer;
  }
};

} // namespace

TEST_CASE_METHOD(Fixture, "A call is repeated under one idempotency key until it succeeds",
                 "[actors][http]") {
  replies = {test::json(503, "{}"), test::no_connection(true), test::json(200, "{}")};
  auto answer = call();
  pass(499ms);
  CHECK(transport->sent.size() == 1);
  pass(1ms);
  CHECK(transport->sent.size() == 2);
  pass(1s);
  REQUIRE(answer->has_value());
  CHECK((*answer)->value().status == 200);
  REQUIRE(transport->sent.size() == 3);
  auto key = test::header(transport->sent[0].request.headers, "X-Idempotency-Key");
  CHECK_FALSE(key.empty());
  for (const auto& sent : transport->sent) {
    CHECK(test::header(sent.request.headers, "X-Idempotency-Key") == key);
    CHECK(test::header(sent.request.secret_headers, "X-API-Key") == "tml-secret");
    CHECK(sent.request.body == transport->sent[0].request.body); // shared, not copied
  }
}

TEST_CASE_METHOD(Fixture, "A wait that the service asks for is kept", "[actors][http]") {
  replies = {test::json(429, "{}", {{"retry-after", "7"}}), test::json(200, "{}")};
  auto answer = call();
  pass(6'999ms);
  CHECK(transport->sent.size() == 1);
  pass(1ms);
  CHECK(answer->has_value());
}

TEST_CASE_METHOD(Fixture, "What the caller did wrong is answered at once", "[actors][http]") {
  replies = {test::json(400, R"({"detail":"`lora_config.rank` is 3"})")};
  auto answer = call();
  REQUIRE(answer->has_value());
  REQUIRE_FALSE((*answer)->has_value());
  const auto& error = (*answer)->error();
  CHECK(error.code == Errc::invalid_argument);
  CHECK(error.http_status == 400);
  CHECK(error.attempts == 1);
  CHECK(error.message.find("`lora_config.rank` is 3") != std::string::npos);
  CHECK(to_string(error).find("tml-secret") == std::string::npos);
}

TEST_CASE_METHOD(Fixture, "A doubt about an early try stays in the error", "[actors][http]") {
  replies = {test::no_connection(true)};
  for (int i = 0; i < 100; ++i)
    replies.push_back(test::no_connection(false));
  auto answer = call();
  for (int i = 0; i < 20 && !answer->has_value(); ++i)
    pass(10s);
  REQUIRE(answer->has_value());
  CHECK((*answer)->error().ambiguous);
  CHECK((*answer)->error().attempts > 2);
}

TEST_CASE_METHOD(Fixture, "An account without credit is waited for, with one warning",
                 "[actors][http]") {
  replies = {test::json(402, "{}"), test::json(402, "{}"), test::json(200, "{}")};
  auto answer = call();
  for (int i = 0; i < 5 && !answer->has_value(); ++i)
    pass(5s);
  REQUIRE(answer->has_value());
  CHECK((*answer)->has_value());
  CHECK(notices.size() == 1);
}

TEST_CASE_METHOD(Fixture, "An exchanged token takes the credential's place and is renewed",
                 "[actors][http]") {
  replies = {test::json(200, R"({"jwt":"eyJ.one"})"), test::json(200, "{}"),
             test::json(200, R"({"jwt":"eyJ.two"})"), test::json(200, "{}")};
  auto exchanged = ask<bool>(http, atom::exchange_v, false);
  run();
  REQUIRE(exchanged->has_value());
  CHECK((*exchanged)->has_value());
  call();
  pass(1min); // the token does not say when it ends
  call();
  REQUIRE(transport->sent.size() == 4);
  auto key = [this](std::size_t i) {
    return test::header(transport->sent[i].request.secret_headers, "X-API-Key");
  };
  CHECK(key(0) == "tml-secret");
  CHECK(key(1) == "eyJ.one");
  CHECK(key(2) == "tml-secret");
  CHECK(key(3) == "eyJ.two");
}

TEST_CASE_METHOD(Fixture, "A single try takes any status for an answer", "[actors][http]") {
  replies = {test::json(503, "{}")};
  auto answer = ask<HttpResponse>(
      http, make_request(Endpoint::session_heartbeat, "{}", make_idempotency_key()));
  run();
  REQUIRE(answer->has_value());
  CHECK((*answer)->value().status == 503);
}

TEST_CASE_METHOD(Fixture, "A call under way is answered when the actor ends",
                 "[actors][http][shutdown]") {
  auto answer = call();
  CHECK_FALSE(answer->has_value());
  kill(caf::actor_cast<caf::actor>(http));
  REQUIRE(answer->has_value());
  CHECK((*answer)->error().code == Errc::cancelled);
}

TEST_CASE_METHOD(Fixture, "Headers of the user's own come before ours", "[actors][http]") {
  replies = {test::json(200, "{}")};
  call();
  const auto& headers = transport->sent.at(0).request.headers;
  CHECK(test::header(headers, "X-Mine") == "1");
  CHECK(test::header(headers, "Accept") == "text/mine");
  CHECK(test::header(headers, "Content-Type") == "application/json");
}

TEST_CASE_METHOD(Fixture, "All tries of a call are of one trace", "[actors][http][trace]") {
  replies = {test::json(503, "{}"), test::json(200, "{}")};
  call();
  pass(500ms);
  REQUIRE(transport->sent.size() == 2);
  auto first = test::header(transport->sent[0].request.headers, "traceparent");
  auto second = test::header(transport->sent[1].request.headers, "traceparent");
  CHECK(first.substr(0, 36) == "00-" + trace->trace_id() + "-");
  CHECK(second.substr(0, 36) == first.substr(0, 36));
  CHECK(second != first);
}

TEST_CASE_METHOD(Fixture, "A lost session fails what needs it, and nothing else",
                 "[actors][http]") {
  auto open = call();
  auto other = ask<HttpResponse>(
      http, make_request(Endpoint::get_server_capabilities, {}, make_idempotency_key()));
  auto lost = Error{.code = Errc::not_found, .message = "gone", .http_status = 404};
  caf::anon_send(http, atom::lost_v, lost);
  run();
  REQUIRE(open->has_value());
  CHECK((*open)->error().message == lost.message);
  CHECK(transport->aborted.size() == 1);
  CHECK_FALSE(other->has_value());
  auto late = call();
  REQUIRE(late->has_value());
  CHECK((*late)->error() == lost);
  CHECK(transport->sent.size() == 2);
}

TEST_CASE_METHOD(Fixture, "A failed call is named by the service's word for it, else by its key",
                 "[actors][http]") {
  replies = {test::json(422, R"({"detail":"no"})"),
             test::json(422, R"({"detail":"no"})", {{"x-request-id", "edge-7"}})};
  auto unnamed = call();
  auto named = call();
  auto key = test::header(transport->sent[0].request.headers, "X-Idempotency-Key");
  CHECK((*unnamed)->error().request_id == "idempotency key " + key);
  CHECK((*named)->error().request_id == "x-request-id edge-7");
}

TEST_CASE_METHOD(Fixture, "Calls are counted with their tries, times and bytes",
                 "[actors][http][metrics]") {
  auto late = test::json(200, "12345");
  late.queued = 3ms;
  replies = {test::json(503, "{}"), late};
  call();
  pass(500ms);
  replies = {test::json(400, "{}")};
  call();
  auto told = [this](bool reset) {
    auto answer = ask<ClientMetrics>(http, atom::metrics_v, reset);
    run();
    return (*answer)->value();
  };
  call(); // never answered
  auto metrics = told(true);
  const auto& steps = metrics.endpoints.at("optim_step");
  CHECK(steps.outcomes == std::map<std::string, std::uint64_t>{{"ok", 1}, {"invalid_argument", 1}});
  CHECK(steps.retries == 1);
  CHECK(steps.latency.count == 2);
  CHECK(steps.latency.max == 500ms);
  CHECK(steps.bytes_out == 8); // four tries of "{}"
  CHECK(steps.bytes_in == 9);
  CHECK(metrics.in_flight == 1);
  CHECK(metrics.period == 500ms);
  CHECK(told(false).endpoints.empty());
}
