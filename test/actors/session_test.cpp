// SPDX-License-Identifier: Apache-2.0
#include "actors/session.hpp"

#include "test/actors/scripted_service.hpp"

using namespace std::chrono_literals;
using namespace tinkaf;

using Fixture = test::ServiceFixture;

TEST_CASE_METHOD(Fixture, "A session opens in the service's order", "[actors][session]") {
  open_session();
  REQUIRE(transport->sent.size() == 3);
  CHECK(transport->sent[0].request.path == path(Endpoint::client_config));
  CHECK(transport->sent[1].request.path == path(Endpoint::client_dynamic_config));
  CHECK(transport->sent[2].request.path == path(Endpoint::create_session));
  auto again = ask<std::string>(session_actor, atom::open_v);
  run();
  CHECK((*again)->value() == "session-1");
  CHECK(transport->sent.size() == 3);
}

TEST_CASE_METHOD(Fixture, "A heartbeat goes out every 10 s whatever else is under way",
                 "[actors][session][heartbeat]") {
  open_session();
  auto client = make_training_client();
  auto stuck = ask<OptimStepResponse>(client, AdamParams{}); // its submission stays open
  run();
  CHECK(sent_to(Endpoint::session_heartbeat).empty());
  pass(9'999ms);
  CHECK(sent_to(Endpoint::session_heartbeat).empty());
  pass(1ms);
  CHECK(sent_to(Endpoint::session_heartbeat).size() == 1);
  pass(10s); // the first one was not answered either
  CHECK(sent_to(Endpoint::session_heartbeat).size() == 2);
  CHECK_FALSE(stuck->has_value());
}

TEST_CASE_METHOD(Fixture, "Two minutes without a heartbeat are worth a warning",
                 "[actors][session][heartbeat]") {
  open_session();
  for (int i = 0; i < 12; ++i) {
    pass(10s);
    refuse(Endpoint::session_heartbeat, test::json(503, "{}"));
  }
  CHECK(notices.empty());
  pass(10s);
  refuse(Endpoint::session_heartbeat, test::json(503, "{}"));
  REQUIRE(notices.size() == 1);
  CHECK(notices[0].text.find("HTTP 503") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "A session that the service forgot is told of once and gives no clients",
                 "[actors][session][heartbeat]") {
  open_session();
  auto trainer = make_training_client();
  auto step = ask<OptimStepResponse>(trainer, AdamParams{});
  pass(10s);
  refuse(Endpoint::session_heartbeat, test::json(404, R"({"detail":"unknown session"})"));
  REQUIRE(step->has_value());
  CHECK((*step)->error().message.find("session-1") != std::string::npos);
  auto next = ask<ForwardBackwardOutput>(trainer, atom::forward_v, ForwardBackwardInput{});
  pass(1min);
  CHECK(next->has_value());
  CHECK(notices.size() == 1);
  CHECK(sent_to(Endpoint::session_heartbeat).size() == 1);
  auto client = ask<TrainingClientActor>(session_actor, CreateLoraTrainingClient{"tiny", {}, {}});
  run();
  REQUIRE(client->has_value());
  CHECK((*client)->error().code == Errc::not_found);
}

TEST_CASE_METHOD(Fixture, "All sampling sessions of a session share one count",
                 "[actors][session]") {
  open_session();
  for (int i = 0; i < 2; ++i) {
    auto client = ask<SamplingClientActor>(session_actor, CreateSamplingClient{.base_model = "m"});
    run();
    REQUIRE(client->has_value());
    REQUIRE((*client)->has_value());
  }
  auto requests = sent_to(Endpoint::create_sampling_session);
  REQUIRE(requests.size() == 2);
  auto number = [](const HttpRequest& request) {
    return wire::from_json<CreateSamplingSessionRequest>(*request.body)
        .value()
        .sampling_session_seq_id;
  };
  CHECK(number(requests[0]) == 0);
  CHECK(number(requests[1]) == 1);
  auto next = ask<std::int64_t>(session_actor, atom::sampler_number_v);
  run();
  CHECK((*next)->value() == 2);
}

TEST_CASE_METHOD(Fixture, "A bad adapter is refused before anything is sent", "[actors][session]") {
  open_session();
  auto before = transport->sent.size();
  auto client = ask<TrainingClientActor>(
      session_actor, CreateLoraTrainingClient{"tiny", LoraConfig{.rank = 3}, {}});
  run();
  REQUIRE(client->has_value());
  CHECK((*client)->error().code == Errc::invalid_argument);
  CHECK((*client)->error().message.find("rank") != std::string::npos);
  CHECK(transport->sent.size() == before);
}

TEST_CASE_METHOD(Fixture, "The dynamic configuration is refreshed at the pace that it sets",
                 "[actors][session][config]") {
  dynamic_config = test::json(200, R"({"refresh_interval_sec":20})");
  open_session();
  opened_with = transport->sent.size();
  pass(19'999ms);
  CHECK(sent_to(Endpoint::client_dynamic_config).empty());
  pass(1ms);
  REQUIRE(sent_to(Endpoint::client_dynamic_config).size() == 1);
  CHECK(sent_to(Endpoint::client_dynamic_config)[0].timeout == 10s);
  SECTION("never more often than every ten seconds") {
    dynamic_config = test::json(200, R"({"refresh_interval_sec":1})");
    pass(20s);
    CHECK(sent_to(Endpoint::client_dynamic_config).size() == 2);
    pass(9s);
    CHECK(sent_to(Endpoint::client_dynamic_config).size() == 2);
    pass(1s);
    CHECK(sent_to(Endpoint::client_dynamic_config).size() == 3);
  }
  SECTION("with one note for all failures in a row") {
    dynamic_config = test::json(503, "{}");
    for (int i = 0; i < 5; ++i)
      pass(20s);
    CHECK(sent_to(Endpoint::client_dynamic_config).size() == 6);
    REQUIRE(notices.size() == 1);
    CHECK(notices[0].text.find("HTTP 503") != std::string::npos);
  }
}

TEST_CASE_METHOD(Fixture, "A service without a dynamic configuration is asked every 300 s",
                 "[actors][session][config]") {
  dynamic_config = test::json(404, "{}");
  open_session();
  opened_with = transport->sent.size();
  pass(299s);
  CHECK(sent_to(Endpoint::client_dynamic_config).empty());
  pass(1s);
  CHECK(sent_to(Endpoint::client_dynamic_config).size() == 1);
  CHECK(notices.empty());
}

TEST_CASE_METHOD(Fixture, "A session does not open without the dynamic configuration",
                 "[actors][session][config]") {
  dynamic_config = test::json(401, R"({"detail":"no"})");
  spawn_session();
  auto id = ask<std::string>(session_actor, atom::open_v);
  run();
  REQUIRE(id->has_value());
  REQUIRE_FALSE((*id)->has_value());
  CHECK((*id)->error().code == Errc::unauthenticated);
}

TEST_CASE_METHOD(Fixture, "A closed session answers everybody and is silent from then on",
                 "[actors][session][close]") {
  settings.options.telemetry = true;
  open_session();
  auto trainer = make_training_client();
  auto step = ask<OptimStepResponse>(trainer, AdamParams{});
  run();
  auto closed = ask<bool>(session_actor, atom::close_v);
  run();
  REQUIRE(step->has_value());
  CHECK((*step)->error().code == Errc::cancelled);
  auto client = ask<TrainingClientActor>(session_actor, CreateLoraTrainingClient{"tiny", {}, {}});
  run();
  REQUIRE(client->has_value());
  CHECK((*client)->error().code == Errc::cancelled);
  CHECK_FALSE(closed->has_value());
  auto told = sent_to(Endpoint::telemetry);
  REQUIRE(told.size() == 1);
  const auto batch = wire::from_json<TelemetrySendRequest>(*told[0].body).value();
  CHECK(batch.session_id == "session-1");
  CHECK(batch.events.front().kind == TelemetryKind::session_start);
  CHECK(batch.events.back().kind == TelemetryKind::session_end);
  SECTION("once its telemetry is sent") {
    refuse(Endpoint::telemetry, test::json(200, "{}"));
    REQUIRE(closed->has_value());
    CHECK((*closed)->value());
  }
  SECTION("once the time for its telemetry is over") {
    pass(settings.options.telemetry_drain);
    REQUIRE(closed->has_value());
    CHECK_FALSE((*closed)->value());
  }
  pass(10min);
  CHECK(sent_to(Endpoint::session_heartbeat).empty());
  auto again = ask<bool>(session_actor, atom::close_v);
  run();
  CHECK(again->has_value());
  CHECK(notices.empty());
}

TEST_CASE_METHOD(Fixture, "A session does without its telemetry", "[actors][session][telemetry]") {
  settings.options.telemetry = true;
  open_session();
  auto trainer = make_training_client();
  pass(10s);
  for (int i = 0; i < 100; ++i) {
    transport->answer(path(Endpoint::telemetry), test::json(500, "{}"));
    transport->answer(path(Endpoint::session_heartbeat), test::json(200, "{}"));
    pass(10s);
  }
  auto step = ask<OptimStepResponse>(trainer, AdamParams{});
  run();
  accept(Endpoint::optim_step, "step");
  finish("step", "{}");
  REQUIRE(step->has_value());
  CHECK((*step)->has_value());
  CHECK(notices.empty());
}

TEST_CASE_METHOD(Fixture, "A session tells the metrics of all its calls",
                 "[actors][session][metrics]") {
  open_session();
  (void)make_training_client();
  auto metrics = ask<ClientMetrics>(session_actor, atom::metrics_v, false);
  run();
  REQUIRE(metrics->has_value());
  REQUIRE((*metrics)->has_value());
  CHECK((**metrics)->endpoints.at("client/config").outcomes.at("ok") == 1);
  CHECK((**metrics)->endpoints.at("create_model").outcomes.at("ok") == 1);
  CHECK((**metrics)->polls == 1);
}

TEST_CASE_METHOD(Fixture, "What the service says at the start is passed on at its level",
                 "[actors][session]") {
  created.info_message = "hello";
  created.warning_message = "maintenance at noon";
  created.error_message = "your data is old";
  open_session(); // an error of this kind does not stop it
  CHECK(notices
        == std::vector<Notice>{{Severity::info, "hello"},
                               {Severity::warning, "maintenance at noon"},
                               {Severity::error, "your data is old"}});
}

TEST_CASE_METHOD(Fixture, "A session tells its project, tags and metadata", "[actors][session]") {
  settings.options.project_id = "proj-3";
  settings.options.tags = std::vector<std::string>{""};
  settings.options.user_metadata = {{"team", "red"}};
  open_session();
  auto request = wire::from_json<CreateSessionRequest>(*transport->sent.at(2).request.body);
  REQUIRE(request.has_value());
  CHECK(request->project_id == "proj-3");
  CHECK(request->tags == std::vector<std::string>{""});
  CHECK(request->user_metadata == UserMetadata{{"team", "red"}});
}

TEST_CASE_METHOD(Fixture, "A client that breaks is told to the service, and only that it did",
                 "[actors][session][telemetry]") {
  settings.options.telemetry = true;
  open_session();
  auto trainer = make_training_client();
  kill(caf::actor_cast<caf::actor>(trainer));
  auto told = sent_to(Endpoint::telemetry);
  REQUIRE(told.size() == 1);
  auto batch = wire::from_json<TelemetrySendRequest>(*told[0].body);
  REQUIRE(batch.has_value());
  CHECK(batch->events.back().kind == TelemetryKind::unhandled_exception);
  CHECK(batch->events.back().error_message == "client broke");
}
