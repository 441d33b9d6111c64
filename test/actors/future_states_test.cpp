// SPDX-License-Identifier: Apache-2.0
#include "actors/byte_budget.hpp"
#include "actors/http_actor.hpp"
#include "actors/poller_supervisor.hpp"
#include "actors/quiet_notices.hpp"
#include "api/wire/json.hpp"
#include "messages/requests.hpp"
#include "test/actors/actor_fixture.hpp"
#include "test/actors/scripted_transport.hpp"
#include "test/api/wire_examples.hpp"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace tinkaf;

// What a poller does about each answer that a poll can get.

namespace {

const std::string poll_path = "/api/v1/retrieve_future";

std::string text_of(const rapidjson::Value& value) {
  rapidjson::StringBuffer text;
  rapidjson::Writer<rapidjson::StringBuffer> writer{text};
  value.Accept(writer);
  return text.GetString();
}

struct Fixture : test::ActorFixture {
  void start(PollPolicy policy = {.jitter = 0.0}) {
    auto quiet = quiet_notices([this](const Notice& x) { notices.push_back(x); }, 1min,
                               [this] { return now(); });
    supervisor = spawn(
        poller_supervisor, http,
        PollerSettings{.policy = policy,
                       .response_budget = budget,
                       .notices = quiet,
                       .queue_states = [this](const QueueStateChange& x) { changes.push_back(x); }},
        RestartPolicy{});
  }

  test::Answer<FutureValue> wait_for(const std::string& request_id,
                                     RequestType type = RequestType::optim_step) {
    auto result = ask<FutureValue>(supervisor, PollJob{{request_id, {}}, type, now(), {}});
    run();
    return result;
  }

  /// Answers the open poll after the service has held it for a while.
  void reply(Result<HttpResponse> response, std::chrono::milliseconds held = 40s) {
    pass(held);
    REQUIRE(transport->answer(poll_path, std::move(response)));
    run();
  }

  std::size_t polls() const {
    return transport->sent.size();
  }

  std::shared_ptr<test::ScriptedTransport> transport = std::make_shared<test::ScriptedTransport>();
  HttpActor http = spawn(http_actor, transport, HttpActorSettings{});
  ByteBudgetActor budget = spawn(byte_budget, 100'000'000);
  PollerSupervisorActor supervisor;
  std::vector<Notice> notices;
  std::vector<QueueStateChange> changes;
};

/// The reaction to one state; a final one has a code.
struct Reaction {
  std::string state;
  Errc code = Errc::none;
  ErrorCategory category = ErrorCategory::unknown;
  std::chrono::milliseconds pause{0};
  std::size_t notices = 0;
  std::size_t changes = 0;
};

const std::vector<Reaction> reactions{
    {.state = "pending, HTTP 200", .changes = 1},
    {.state = "paused for capacity, HTTP 200", .notices = 1, .changes = 1},
    {.state = "pending, HTTP 408", .notices = 1, .changes = 1},
    {.state = "large result peek"},
    {.state = "failed by user", .code = Errc::request_failed, .category = ErrorCategory::user},
    {.state = "failed by server", .code = Errc::request_failed, .category = ErrorCategory::server},
    {.state = "expired promise", .code = Errc::future_expired, .category = ErrorCategory::server},
    {.state = "unknown id", .code = Errc::not_found, .category = ErrorCategory::user},
    {.state = "server error"},
    {.state = "rate limited", .pause = 1s},
    {.state = "bad request"},
};

const std::string step = R"({"metrics":{"step":7}})";

} // namespace

TEST_CASE_METHOD(Fixture, "Each state of a future has its reaction", "[actors][future]") {
  auto states = test::example_json("retrieve_future.states.json");
  REQUIRE(states.Size() == reactions.size());
  auto i = GENERATE(range(0U, 11U));
  const auto& expected = reactions[i];
  INFO(expected.state);
  REQUIRE(states[i]["name"].GetString() == expected.state);

  start();
  auto answer = wait_for("req-000123");
  REQUIRE(polls() == 1);
  reply(test::json(states[i]["status"].GetInt(), text_of(states[i]["body"])));
  CHECK(notices.size() == expected.notices);
  CHECK(changes.size() == expected.changes);
  if (expected.code != Errc::none) {
    REQUIRE(answer->has_value());
    REQUIRE_FALSE((*answer)->has_value());
    CHECK((*answer)->error().code == expected.code);
    CHECK((*answer)->error().category == expected.category);
    CHECK((*answer)->error().request_id == "req-000123");
    CHECK(polls() == 1);
    return;
  }
  CHECK_FALSE(answer->has_value());
  if (expected.pause > 0s) {
    pass(expected.pause - 1ms);
    CHECK(polls() == 1);
    pass(1ms);
  }
  REQUIRE(polls() == 2);
  auto again = wire::from_json<RetrieveFutureRequest>(*transport->sent[1].request.body).value();
  CHECK(again.request_id == "req-000123");
  CHECK(again.allow_metadata_only == (expected.state != "large result peek"));
  CHECK(test::header(transport->sent[1].request.headers, "X-Tinker-Request-Iteration") == "1");
  reply(test::json(200, step));
  REQUIRE(answer->has_value());
  CHECK(std::get<OptimStepResponse>(***answer).metrics.at("step") == 7);
}

TEST_CASE_METHOD(Fixture, "Queue states arrive in order, and people hear each once a minute",
                 "[actors][future]") {
  start();
  auto answer = wait_for("req-1");
  auto tell = [this](const char* state, const std::string& reason = {}) {
    reply(test::json(200, R"({"type":"try_again","request_id":"req-1","queue_state":")"
                              + std::string{state} + R"(","queue_state_reason":")" + reason
                              + R"("})"),
          1s);
  };
  tell("paused_capacity", "waiting for two nodes");
  tell("paused_capacity", "waiting for two nodes");
  tell("paused_capacity", "waiting for one node");
  tell("active");
  tell("paused_capacity", "waiting for two nodes");
  tell("paused_rate_limit");
  tell("a_new_word"); // no reason, no state that we know: nothing to tell
  CHECK(
      changes
      == std::vector<QueueStateChange>{
          {"req-1", RequestType::optim_step, QueueState::paused_capacity, "waiting for two nodes"},
          {"req-1", RequestType::optim_step, QueueState::paused_capacity, "waiting for one node"},
          {"req-1", RequestType::optim_step, QueueState::active, ""},
          {"req-1", RequestType::optim_step, QueueState::paused_capacity, "waiting for two nodes"},
          {"req-1", RequestType::optim_step, QueueState::paused_rate_limit, ""}});
  REQUIRE(notices.size() == 4); // the repetition within the minute is left out
  CHECK(notices[0].text == "the service makes OptimStep wait: waiting for two nodes");
  CHECK(notices[2] == Notice{Severity::info, "the service goes on with OptimStep"});
  CHECK(notices[3].text.find("too many training clients") != std::string::npos);
  pass(1min);
  tell("paused_capacity", "waiting for two nodes");
  CHECK(notices.size() == 5);
  CHECK_FALSE(answer->has_value());
}

TEST_CASE_METHOD(Fixture, "A poller that is started again does not repeat what was told",
                 "[actors][future][supervision]") {
  start();
  auto answer = wait_for("req-1");
  auto paused = test::json(408, R"({"queue_state":"paused_capacity"})");
  reply(paused);
  auto statuses = ask<PollerStatuses>(supervisor, atom::status_v);
  run();
  REQUIRE((*statuses)->value().size() == 1);
  CHECK((*statuses)->value()[0].queue_state == QueueState::paused_capacity);
  kill(caf::actor_cast<caf::actor>((*statuses)->value()[0].poller));
  pass(100ms);
  reply(paused);
  CHECK(changes.size() == 1);
  CHECK(notices.size() == 1);
  CHECK_FALSE(answer->has_value());
}

TEST_CASE_METHOD(Fixture, "Answers that are no state end the wait with an error",
                 "[actors][future]") {
  start();
  auto type = RequestType::create_model;
  HttpResponse response;
  SECTION("no JSON") {
    response = test::json(200, "<html>");
  }
  SECTION("no body") {
    response = test::json(200, "");
  }
  SECTION("a shape that is no result") {
    response = test::json(200, R"({"news":"none"})");
  }
  SECTION("protobuf that is none") {
    type = RequestType::sample;
    response = {.status = 200,
                .headers = {{"content-type", "application/x-protobuf"}},
                .body = "\xff\xff\xff"};
  }
  auto answer = wait_for("req-1", type);
  reply(response);
  REQUIRE(answer->has_value());
  CHECK((*answer)->error().code == Errc::protocol_error);
  CHECK((*answer)->error().request_id == "req-1");
  CHECK((*answer)->error().http_status == 200);
}

TEST_CASE_METHOD(Fixture, "Refusals are final", "[actors][future]") {
  start();
  auto status = GENERATE(401, 403, 409, 422, 425);
  auto answer = wait_for("req-1");
  reply(test::json(status, R"({"detail":"no"})"));
  REQUIRE(answer->has_value());
  CHECK((*answer)->error().http_status == status);
  CHECK((*answer)->error().code == errc_from_http_status(status));
}

TEST_CASE_METHOD(Fixture, "A 404 right after the submission may pass", "[actors][future]") {
  start();
  auto answer = wait_for("req-1");
  reply(test::json(404, R"({"detail":"no such request"})"), 0s);
  pass(1s);
  CHECK(polls() == 2);
  reply(test::json(200, step), 0s);
  CHECK((*answer)->has_value());
}

TEST_CASE_METHOD(Fixture, "A 408 without a body is no news", "[actors][future]") {
  start();
  wait_for("req-1");
  reply({{.status = 408, .headers = {}, .body = {}}});
  CHECK(polls() == 2);
  CHECK(changes.empty());
}

TEST_CASE_METHOD(Fixture, "The fourth 400 is final unless the service was heard of meanwhile",
                 "[actors][future]") {
  start();
  auto answer = wait_for("req-1");
  auto refusal = test::json(400, R"({"detail":"??"})");
  for (int i = 0; i < 3; ++i)
    reply(refusal);
  SECTION("it was not") {
    reply(refusal);
    REQUIRE(answer->has_value());
    CHECK((*answer)->error().http_status == 400);
  }
  SECTION("it was") {
    reply(test::json(408, R"({"queue_state":"active"})"));
    reply(refusal);
    CHECK_FALSE(answer->has_value());
    CHECK(polls() == 6);
  }
}

TEST_CASE_METHOD(Fixture, "Lost polls and empty 400s are backed off from", "[actors][future]") {
  start();
  auto answer = wait_for("req-1");
  std::size_t sent = 1;
  auto expect_pause = [&](Result<HttpResponse> response, std::chrono::milliseconds pause) {
    reply(std::move(response));
    pass(pause - 1ms);
    CHECK(polls() == sent);
    pass(1ms);
    CHECK(polls() == ++sent);
  };
  expect_pause(test::no_connection(false), 1s);
  expect_pause({{.status = 400, .headers = {}, .body = {}}}, 2s);
  expect_pause(fail(Errc::timeout, "no answer within 45000 ms"), 4s);
  expect_pause(test::json(429, "{}"), 8s);
  reply(test::json(503, "{}"));
  CHECK(polls() == ++sent); // at once, and the pauses begin anew
  expect_pause(test::json(429, "{}", {{"retry-after", "7"}}), 7s);
  reply(test::json(200, step));
  CHECK((*answer)->has_value());
}

TEST_CASE_METHOD(Fixture, "An account without credit is waited for in silence, but not for ever",
                 "[actors][future]") {
  start();
  caf::anon_send(http, atom::max_pause_v, caf::timespan{12s});
  auto answer = wait_for("req-1");
  auto broke = test::json(402, R"({"detail":"no credit"})");
  for (std::size_t i = 2; i < 5; ++i) {
    reply(broke, 0s);
    pass(5s);
    CHECK(polls() == i);
  }
  CHECK_FALSE(answer->has_value());
  reply(broke, 0s);
  REQUIRE(answer->has_value());
  CHECK((*answer)->error().code == Errc::payment_required);
  CHECK((*answer)->error().request_id == "req-1");
}

TEST_CASE_METHOD(Fixture, "Past the deadline the error tells the whole story", "[actors][future]") {
  start({.jitter = 0.0, .deadline = 100s});
  auto answer = wait_for("req-1");
  reply(test::json(200, R"({"type":"try_again","queue_state":"paused_capacity",
                            "queue_state_reason":"waiting for two nodes"})"));
  CHECK(transport->sent.back().request.timeout == 45s);
  SECTION("when the poll comes back too late") {
    reply(test::json(200, R"({"type":"try_again"})"));
    CHECK(transport->sent.back().request.timeout == 20s); // what is left
    reply(fail(Errc::timeout, "no answer within 20000 ms"), 20s);
  }
  SECTION("when the pause would go past it") {
    reply(test::json(429, "{}", {{"retry-after", "21"}}));
  }
  SECTION("when there is no room for a large result") {
    auto other = ask<std::uint64_t>(budget, atom::acquire_v, std::int64_t{100'000'001});
    reply(test::json(200, R"({"status":"complete_metadata","response_payload_size":5})"));
    CHECK_FALSE(answer->has_value());
    pass(20s);
  }
  REQUIRE(answer->has_value());
  const auto& error = (*answer)->error();
  CHECK(error.code == Errc::timeout);
  CHECK(error.request_id == "req-1");
  for (const auto* part : {"OptimStep", "ms after its submission", "paused_capacity",
                           "waiting for two nodes", "polling.deadline is 100000 ms"}) {
    INFO(error.message);
    CHECK(error.message.find(part) != std::string::npos);
  }
}

TEST_CASE_METHOD(Fixture, "Large results share a budget, which a killed poller gives back",
                 "[actors][future][byte-budget]") {
  start();
  auto announce = [this](const std::string& id) {
    auto answer = wait_for(id);
    auto size = R"({"status":"complete_metadata","response_payload_size":73400320})";
    REQUIRE(transport->answer(poll_path, test::json(200, size), id));
    run();
    return answer;
  };
  auto first = announce("req-1");  // takes 73 MB of 100
  auto second = announce("req-2"); // overdraws
  CHECK(transport->open_count() == 2);
  auto third = announce("req-3");
  CHECK(transport->open_count() == 2); // waits
  SECTION("and one that ends too") {
    REQUIRE(transport->answer(poll_path, test::json(200, step), "req-1"));
    run();
    CHECK((*first)->has_value());
    CHECK(transport->open_count() == 2); // of req-2 and req-3
  }
  SECTION("by its death") {
    auto statuses = ask<PollerStatuses>(supervisor, atom::status_v);
    run();
    for (const auto& status : (*statuses)->value())
      if (status.request_id == "req-1")
        kill(caf::actor_cast<caf::actor>(status.poller));
    CHECK(transport->open_count() == 2);
  }
  auto whole = wire::from_json<RetrieveFutureRequest>(*transport->sent.back().request.body).value();
  CHECK(whole.request_id == "req-3");
  CHECK_FALSE(whole.allow_metadata_only);
  CHECK_FALSE(second->has_value());
  CHECK_FALSE(third->has_value());
}

TEST_CASE_METHOD(Fixture, "One job can be given up by the one who waits for it",
                 "[actors][future][cancel]") {
  start();
  auto job = [this](const std::string& id, std::uint64_t call) {
    auto result = PollJob{{id, {}}, RequestType::optim_step, now(), {}};
    result.call = call;
    return result;
  };
  auto first = ask<FutureValue>(supervisor, job("req-1", 1));
  auto second = ask<FutureValue>(supervisor, job("req-2", 2));
  run();
  tell_as(make_asker(), supervisor, atom::cancel_v, std::uint64_t{1});
  run();
  CHECK_FALSE(first->has_value()); // a stranger has no say
  tell_as(asker(), supervisor, atom::cancel_v, std::uint64_t{1});
  run();
  REQUIRE(first->has_value());
  CHECK((*first)->error().code == Errc::cancelled);
  CHECK((*first)->error().request_id == "req-1");
  CHECK(transport->open_count() == 1);
  CHECK(polls() == 2); // nothing was sent to say so
  reply(test::json(200, step));
  CHECK((*second)->has_value());
}
