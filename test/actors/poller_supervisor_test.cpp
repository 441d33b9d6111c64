// SPDX-License-Identifier: Apache-2.0
#include "actors/poller_supervisor.hpp"

#include "actors/http_actor.hpp"
#include "test/actors/actor_fixture.hpp"
#include "test/actors/scripted_transport.hpp"

#include <variant>

using namespace std::chrono_literals;
using namespace tinkaf;

namespace {

const std::string poll_path = "/api/v1/retrieve_future";

struct Fixture : test::ActorFixture {
  std::shared_ptr<test::ScriptedTransport> transport = std::make_shared<test::ScriptedTransport>();
  HttpActor http = spawn(http_actor, transport, HttpActorSettings{});
  PollerSupervisorActor supervisor
      = spawn(poller_supervisor, http, PollerSettings{.policy = {.jitter = 0.0}},
              RestartPolicy{.max_restarts = 3, .first_delay = 100ms});

  PollJob job(const std::string& request_id) {
    return {{request_id, {}}, RequestType::optim_step, now(), {}};
  }

  test::Answer<FutureValue> wait_for(const std::string& request_id) {
    auto answer = ask<FutureValue>(supervisor, job(request_id));
    run();
    return answer;
  }

  PollerStatus only_job() {
    auto statuses = ask<PollerStatuses>(supervisor, atom::status_v);
    run();
    REQUIRE(statuses->has_value());
    REQUIRE((*statuses)->value().size() == 1);
    return (*statuses)->value().front();
  }

  void kill_poller() {
    kill(caf::actor_cast<caf::actor>(only_job().poller));
  }
};

} // namespace

TEST_CASE_METHOD(Fixture, "A caller gets its result although its poller crashes twice",
                 "[actors][supervision]") {
  auto answer = wait_for("req-1");

  // In flight: the first poll is open at the service, the caller waits.
  REQUIRE(transport->open_count() == 1);
  kill_poller();
  CHECK(transport->open_count() == 0); // the dead poller's exchange was given up
  CHECK_FALSE(answer->has_value());

  pass(100ms);
  REQUIRE(transport->open_count() == 1);
  CHECK(only_job().restarts == 1);
  kill_poller();

  pass(199ms); // the second pause is twice the first
  CHECK(transport->open_count() == 0);
  pass(1ms);
  CHECK(only_job().restarts == 2);
  REQUIRE(transport->sent.size() == 3);
  for (const auto& sent : transport->sent)
    CHECK(sent.request.body->find("req-1") != std::string::npos);

  REQUIRE(transport->answer(poll_path, test::json(200, R"({"metrics":{"step":7}})")));
  run();
  REQUIRE(answer->has_value());
  REQUIRE((*answer)->has_value());
  CHECK(std::get<OptimStepResponse>(***answer).metrics.at("step") == 7);
}

TEST_CASE_METHOD(Fixture, "What a poller threw is told as the reason of its restart",
                 "[actors][supervision]") {
  auto answer = wait_for("req-1");
  caf::anon_send(caf::actor_cast<caf::actor>(only_job().poller),
                 caf::exit_msg{caf::actor_addr{}, caf::make_error(caf::sec::runtime_error,
                                                                  std::string{"out of luck"})});
  run();
  CHECK(transport->open_count() == 0);
  pass(100ms);
  CHECK(only_job().restarts == 1);
  CHECK(only_job().last_reason == "an exception: out of luck");
  REQUIRE(transport->answer(poll_path, test::json(200, R"({"metrics":{}})")));
  run();
  REQUIRE(answer->has_value());
  CHECK((*answer)->has_value());
}

TEST_CASE_METHOD(Fixture, "A poller that breaks for ever costs its caller only an error",
                 "[actors][supervision]") {
  auto answer = wait_for("req-2");
  for (int i = 0; i < 4; ++i) {
    kill_poller();
    pass(10s);
  }
  REQUIRE(answer->has_value());
  REQUIRE_FALSE((*answer)->has_value());
  CHECK((*answer)->error().code == Errc::gave_up);
  CHECK((*answer)->error().request_id == "req-2");
}

TEST_CASE_METHOD(Fixture, "A failed operation is an answer and no crash", "[actors][supervision]") {
  auto answer = wait_for("req-3");
  transport->answer(poll_path, test::json(200, R"({"error":"rank too large","category":"user"})"));
  run();
  pass(1min);
  REQUIRE(answer->has_value());
  REQUIRE_FALSE((*answer)->has_value());
  CHECK((*answer)->error().code == Errc::request_failed);
  CHECK((*answer)->error().category == ErrorCategory::user);
  CHECK((*answer)->error().message == "rank too large");
  CHECK((*answer)->error().request_id == "req-3");
  CHECK(transport->sent.size() == 1);
}

TEST_CASE_METHOD(Fixture, "Polling ends with the one who asked for it", "[actors][supervision]") {
  auto caller = make_asker();
  auto answer = ask_as<FutureValue>(caller, supervisor, job("req-4"));
  run();
  REQUIRE(transport->open_count() == 1);
  kill(caller);
  CHECK(transport->open_count() == 0);
  CHECK(transport->aborted.size() == 1);
}

TEST_CASE_METHOD(Fixture, "Results come in any order, each to its own caller",
                 "[actors][supervision]") {
  auto first = wait_for("req-a");
  auto second = wait_for("req-b");
  // The script answers the oldest: leave it open by answering "try again" for it last.
  REQUIRE(transport->sent.size() == 2);
  transport->answer(poll_path, test::json(200, R"({"type":"try_again","request_id":"req-a"})"));
  run();
  transport->answer(poll_path, test::json(200, R"({"metrics":{"step":2}})"));
  run();
  REQUIRE(second->has_value());
  CHECK(std::get<OptimStepResponse>(***second).metrics.at("step") == 2);
  CHECK_FALSE(first->has_value());
  pass(1s);
  transport->answer(poll_path, test::json(200, R"({"metrics":{"step":1}})"));
  run();
  REQUIRE(first->has_value());
  CHECK(std::get<OptimStepResponse>(***first).metrics.at("step") == 1);
}

TEST_CASE_METHOD(Fixture, "Those who wait are told when the supervisor ends",
                 "[actors][supervision][shutdown]") {
  auto answer = wait_for("req-5");
  kill(caf::actor_cast<caf::actor>(supervisor));
  REQUIRE(answer->has_value());
  CHECK((*answer)->error().code == Errc::cancelled);
  CHECK(transport->open_count() == 0);
}

TEST_CASE_METHOD(Fixture, "Restarts of answered jobs count too, until counting starts anew",
                 "[actors][supervision][metrics]") {
  auto answer = wait_for("req-1");
  kill_poller();
  pass(100ms);
  REQUIRE(transport->answer(poll_path, test::json(200, R"({"metrics":{}})")));
  run();
  REQUIRE(answer->has_value());
  auto counted = [this](bool reset) {
    auto count = ask<std::uint64_t>(supervisor, atom::metrics_v, reset);
    run();
    return (*count)->value();
  };
  CHECK(counted(true) == 1);
  CHECK(counted(false) == 0);
}

TEST_CASE_METHOD(Fixture, "A caller learns how far its own calls are, and nobody else's",
                 "[actors][supervision]") {
  auto mine = job("req-1");
  mine.call = 5;
  auto first = ask<FutureValue>(supervisor, mine);
  auto theirs = make_asker();
  auto second = ask_as<FutureValue>(theirs, supervisor, job("req-2"));
  run();
  REQUIRE(transport->answer(
      poll_path, test::json(200, R"({"type":"try_again","queue_state":"paused_capacity",)"
                                 R"("queue_state_reason":"GPUs are out"})")));
  run();
  auto status = [this](const caf::actor& asker, std::uint64_t call) {
    auto answer = ask_as<CallStatus>(asker, supervisor, atom::status_v, call);
    run();
    return (*answer)->value();
  };
  CHECK(status(asker(), 5)
        == CallStatus{
            {{"req-1", RequestType::optim_step, QueueState::paused_capacity, "GPUs are out"}}});
  CHECK(status(asker(), 6) == CallStatus{});
  CHECK(status(theirs, 5) == CallStatus{});
}

TEST_CASE("Too many restarts within the window are noticed, old ones are forgotten",
          "[actors][supervision]") {
  auto policy
      = RestartPolicy{.max_restarts = 2, .window = 10s, .first_delay = 100ms, .max_delay = 150ms};
  RestartCounter counter;
  auto start = RestartCounter::TimePoint{} + 1h;
  CHECK(counter.next_delay(policy, start) == 100ms);
  CHECK(counter.next_delay(policy, start + 5s) == 150ms);
  CHECK(counter.next_delay(policy, start + 11s) == 150ms);
  CHECK_FALSE(counter.next_delay(policy, start + 12s));
  CHECK(counter.next_delay(policy, start + 1min) == 100ms);
  CHECK(counter.total() == 5);
}
