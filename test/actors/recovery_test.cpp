// SPDX-License-Identifier: Apache-2.0
#include "actors/quiet_notices.hpp"
#include "actors/recovery_executor.hpp"
#include "actors/recovery_monitor.hpp"
#include "api/wire/json_rest.hpp"
#include "test/actors/scripted_service.hpp"

#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace tinkaf;

// Training runs that break, against a scripted service and on a clock that the test moves.

namespace {

const std::string given = "tinker://model-1/weights/given";
const std::string last = "tinker://model-1/weights/last";
const std::string listed = "tinker://model-1/weights/listed";
const std::string mine = "tinker://mine/weights/one";

std::string checkpoint_json(const std::string& path, const char* time) {
  auto id = path.substr(path.find("weights/"));
  return R"({"checkpoint_id":")" + id + R"(","checkpoint_type":"training","time":")" + time
         + R"(","tinker_path":")" + path + R"("})";
}

std::string run_json(bool corrupted, const std::string& newest = last) {
  return R"({"training_run_id":"model-1","base_model":"tiny","model_owner":"me","is_lora":true,)"
         R"("lora_rank":4,"last_request_time":"2026-03-04T05:06:07Z","corrupted":)"
         + std::string{corrupted ? "true" : "false"}
         + (newest.empty()
                ? ""
                : R"(,"last_checkpoint":)" + checkpoint_json(newest, "2026-03-04T05:06:07Z"))
         + "}";
}

struct Fixture : test::ServiceFixture {
  Fixture() {
    config.create_model_via_load_weights = true;
    settings.options.retry.max_attempts = 1;
    policy.enabled = true;
    policy.jitter = 0.0;
    replies["/api/v1/training_runs/model-1?"] = test::json(200, run_json(false));
    replies["/api/v1/training_runs/model-2"] = test::json(200, run_json(false));
    replies["/api/v1/training_runs/model-1/checkpoints"] = test::json(
        200, R"({"checkpoints":[)" + checkpoint_json(listed, "2026-03-04T05:00:00Z") + ","
                 + checkpoint_json("tinker://model-1/weights/older", "2026-03-03T05:00:00Z")
                 + "]}");
    recoverable();
  }

  /// Lets checkpoints be loaded into a new model.
  void recoverable() {
    replies["/api/v1/load_weights"] = test::json(200, R"({"request_id":"load"})");
    results["load"] = R"({"path":"tinker://x/weights/y","model_id":"model-2"})";
  }

  void unrecoverable(int status) {
    replies.insert_or_assign("/api/v1/load_weights", test::json(status, R"({"detail":"no"})"));
  }

  void corrupt() {
    replies.insert_or_assign("/api/v1/training_runs/model-1?", test::json(200, run_json(true)));
  }

  /// What the actors of the recovery need.
  RecoverySettings recovery_settings() {
    auto rest = ask<RestClientActor>(session_actor, atom::rest_client_v);
    run();
    REQUIRE(rest->has_value());
    callbacks.on_event = [this](const RecoveryEvent& x) { events.push_back(x); };
    return {.policy = policy,
            .callbacks = callbacks,
            .notices = settings.notices,
            .session = session_actor,
            .rest = (*rest)->value()};
  }

  void open() {
    open_session();
    client = make_training_client();
    monitor = spawn(recovery_monitor, recovery_settings(), [] { return 0.5; });
  }

  test::Answer<Done> watch(WatchedRun run_to_watch) {
    auto answer = ask<Done>(monitor, std::move(run_to_watch));
    run();
    return answer;
  }

  /// Opens all, and watches the one run.
  void open_and_watch(WatchedRun run_to_watch = {.training_run_id = "model-1"}) {
    open();
    run_to_watch.client = client;
    REQUIRE(watch(std::move(run_to_watch))->value().has_value());
  }

  void break_client() {
    kill(caf::actor_cast<caf::actor>(client));
    pass(2s); // time for the polls of what follows
  }

  RecoveryStatus status() {
    auto answer = ask<RecoveryStatus>(monitor, atom::status_v);
    run();
    return (*answer)->value();
  }

  std::vector<std::string> kinds() const {
    std::vector<std::string> result;
    for (const auto& event : events)
      result.emplace_back(to_string(event.kind));
    return result;
  }

  /// Paths of the checkpoints that were asked to be loaded.
  std::vector<std::string> loaded() const {
    std::vector<std::string> result;
    for (const auto& request : sent_to(Endpoint::load_weights))
      result.push_back(wire::from_json<LoadWeightsRequest>(*request.body).value().path);
    return result;
  }

  std::size_t asked_for(const std::string& beginning) const {
    return static_cast<std::size_t>(
        std::count_if(transport->sent.begin(), transport->sent.end(),
                      [&](const auto& x) { return x.request.path.starts_with(beginning); }));
  }

  bool is_alive(const TrainingClientActor& whom) {
    auto answer = ask<std::string>(whom, atom::open_v);
    run();
    return answer->has_value() && (*answer)->has_value();
  }

  RecoveryPolicy policy;
  RecoveryCallbacks callbacks;
  std::vector<RecoveryEvent> events;
  TrainingClientActor client;
  RecoveryMonitorActor monitor;
};

} // namespace

TEST_CASE_METHOD(Fixture, "A corrupted run goes on from its last checkpoint, watched again",
                 "[actors][recovery]") {
  std::vector<RecoveredRun> recovered;
  callbacks.on_recovery = [&](const RecoveredRun& x) { recovered.push_back(x); };
  open_and_watch();
  pass(30s);
  CHECK(asked_for("/api/v1/training_runs/model-1?") == 1);
  CHECK(events.empty());
  corrupt();
  pass(29'999ms);
  CHECK(events.empty());
  pass(1ms);
  pass(2s);
  CHECK(kinds()
        == std::vector<std::string>{"detected", "started", "checkpoint_selected", "client_created",
                                    "completed"});
  CHECK(loaded() == std::vector<std::string>{last});
  CHECK(wire::from_json<LoadWeightsRequest>(*sent_to(Endpoint::load_weights)[0].body)
            .value()
            .optimizer);
  REQUIRE(recovered.size() == 1);
  CHECK(recovered[0].old_run_id == "model-1");
  CHECK(recovered[0].training_run_id == "model-2");
  CHECK(recovered[0].checkpoint == last);
  CHECK(is_alive(recovered[0].client));
  CHECK_FALSE(is_alive(client));
  CHECK(status() == RecoveryStatus{.watched = {"model-2"}, .recovered = 1});
  pass(30s);
  CHECK(asked_for("/api/v1/training_runs/model-2") == 1);
  CHECK(notices.size() >= 2);
  // The new client is watched like the old one.
  kill(caf::actor_cast<caf::actor>(recovered[0].client));
  CHECK(events.back().training_run_id == "model-2");
}

TEST_CASE_METHOD(Fixture, "A client that breaks is recovered at once", "[actors][recovery]") {
  open_and_watch();
  break_client();
  REQUIRE_FALSE(events.empty());
  CHECK(events[0].kind == RecoveryEventKind::detected);
  CHECK(events[0].detail == "its client broke: a kill");
  CHECK(events.back().kind == RecoveryEventKind::completed);
  CHECK(loaded() == std::vector<std::string>{listed}); // the service was not asked for the run yet
}

TEST_CASE_METHOD(Fixture, "A client that is ended on purpose is not recovered",
                 "[actors][recovery]") {
  open_and_watch();
  caf::anon_send_exit(client, caf::exit_reason::user_shutdown);
  pass(1min);
  CHECK(events.empty());
  CHECK(status() == RecoveryStatus{});
}

TEST_CASE_METHOD(Fixture, "The checkpoint is the policy's, the caller's, the last or the newest",
                 "[actors][recovery]") {
  std::string wanted;
  WatchedRun watched{.training_run_id = "model-1"};
  auto seen_first = true;
  SECTION("the policy's own before all others") {
    policy.strategy = RecoveryStrategy::specific;
    policy.checkpoint = wanted = mine;
    watched.checkpoint = given;
  }
  SECTION("the one that came with the run before its last") {
    watched.checkpoint = wanted = given;
  }
  SECTION("the run's last before the list") {
    wanted = last;
  }
  SECTION("the newest of the list where none is known") {
    seen_first = false;
    wanted = listed;
  }
  SECTION("the best by its metric") {
    policy.strategy = RecoveryStrategy::best;
    watched.checkpoint = given;
    watched.rated = {{listed, 2.0}};
    wanted = mine;
  }
  SECTION("the latest where none is rated") {
    policy.strategy = RecoveryStrategy::best;
    watched.checkpoint = wanted = given;
  }
  policy.with_optimizer = false;
  open_and_watch(watched);
  if (policy.strategy == RecoveryStrategy::best && !watched.rated.empty()) {
    caf::anon_send(monitor, atom::rate_v, std::string{"model-1"}, RatedCheckpoint{wanted, 1.0});
    caf::anon_send(monitor, atom::rate_v, std::string{"model-1"}, RatedCheckpoint{last, 3.0});
  }
  if (seen_first)
    pass(30s);
  break_client();
  CHECK(loaded() == std::vector<std::string>{wanted});
  CHECK_FALSE(wire::from_json<LoadWeightsRequest>(*sent_to(Endpoint::load_weights)[0].body)
                  .value()
                  .optimizer);
}

TEST_CASE_METHOD(Fixture, "Tries that fail are repeated after growing pauses, then given up",
                 "[actors][recovery]") {
  std::vector<std::string> failures;
  callbacks.on_failure = [&](const std::string& id, const Error& reason) {
    failures.push_back(id + ": " + to_string(reason.code));
  };
  unrecoverable(500);
  open_and_watch();
  break_client();
  CHECK(loaded().size() == 1);
  pass(2'999ms); // 2 s have passed since
  CHECK(loaded().size() == 1);
  pass(1ms);
  CHECK(loaded().size() == 2);
  pass(9'999ms);
  CHECK(loaded().size() == 2);
  CHECK(failures.empty());
  CHECK(status().recovering == std::vector<std::string>{"model-1"});
  pass(1ms);
  CHECK(loaded().size() == 3);
  CHECK(failures == std::vector<std::string>{"model-1: gave_up"});
  CHECK(events.back().kind == RecoveryEventKind::exhausted);
  CHECK(events.back().detail.find("in 3 tries") != std::string::npos);
  CHECK(status() == RecoveryStatus{.given_up = 1});
  pass(10min);
  CHECK(loaded().size() == 3);
}

TEST_CASE_METHOD(Fixture, "A checkpoint that is gone is not tried again", "[actors][recovery]") {
  unrecoverable(404);
  open_and_watch({.training_run_id = "model-1", .checkpoint = given});
  pass(30s);
  break_client();
  pass(3s);
  pass(10s);
  CHECK(loaded() == std::vector<std::string>{given, last, listed});
}

TEST_CASE_METHOD(Fixture, "A run without a checkpoint is given up at once", "[actors][recovery]") {
  Error told;
  callbacks.on_failure = [&](const std::string&, const Error& reason) { told = reason; };
  replies.insert_or_assign("/api/v1/training_runs/model-1/checkpoints",
                           test::json(200, R"({"checkpoints":[]})"));
  open_and_watch();
  break_client();
  CHECK(told.code == Errc::not_found);
  CHECK(told.message.find("model-1 has no checkpoint") != std::string::npos);
  CHECK(loaded().empty());
}

TEST_CASE_METHOD(Fixture, "Recoveries wait for each other", "[actors][recovery]") {
  replies.erase("/api/v1/load_weights"); // nobody answers
  open();
  auto executor = spawn(recovery_executor, recovery_settings(), [] { return 0.5; });
  auto first = ask<RecoveredRun>(executor, RecoverRun{{.training_run_id = "a"}, given});
  auto second = ask<RecoveredRun>(executor, RecoverRun{{.training_run_id = "b"}, last});
  auto again = ask<RecoveredRun>(executor, RecoverRun{{.training_run_id = "a"}, last});
  run();
  REQUIRE(again->has_value());
  CHECK((*again)->error().code == Errc::conflict);
  CHECK(loaded() == std::vector<std::string>{given});
  auto load = [&] {
    auto answer = ask<RecoveryLoad>(executor, atom::status_v);
    run();
    return (*answer)->value();
  };
  CHECK(load().attempts.size() == 1);
  CHECK(load().waiting == 1);

  SECTION("and the next begins when one is done") {
    accept(Endpoint::load_weights, "load");
    pass(2s);
    REQUIRE(first->has_value());
    CHECK((*first)->value().training_run_id == "model-2");
    CHECK(loaded() == std::vector<std::string>{given, last});
  }
  SECTION("and one whose try dies lets the next one begin, and is tried again") {
    kill(load().attempts.at(0));
    CHECK(loaded() == std::vector<std::string>{given, last});
    CHECK_FALSE(first->has_value());
    pass(5s);
    CHECK(load().waiting == 1); // its pause is over, but the place is taken
    kill(load().attempts.at(0));
    CHECK(loaded() == std::vector<std::string>{given, last, given});
  }
  SECTION("and all are told when the executor ends") {
    caf::anon_send_exit(executor, caf::exit_reason::user_shutdown);
    run();
    CHECK((*first)->error().code == Errc::cancelled);
    CHECK((*second)->error().code == Errc::cancelled);
  }
}

TEST_CASE_METHOD(Fixture, "A try that dies while the service is at work is made again",
                 "[actors][recovery]") {
  results.erase("load");
  open();
  auto executor = spawn(recovery_executor, recovery_settings(), [] { return 0.5; });
  auto answer = ask<RecoveredRun>(executor, RecoverRun{{.training_run_id = "a"}, given});
  run();
  auto load = ask<RecoveryLoad>(executor, atom::status_v);
  run();
  kill((*load)->value().attempts.at(0));
  recoverable();
  pass(5s);
  pass(2s);
  REQUIRE(answer->has_value());
  CHECK((*answer)->has_value());
}

TEST_CASE_METHOD(Fixture, "An executor that breaks is started again with what it was at work for",
                 "[actors][recovery][supervision]") {
  results.erase("load"); // the service is at work
  open_and_watch();
  break_client();
  auto* state = dynamic_cast<RecoveryMonitorActor::stateful_base<RecoveryMonitorState>*>(
      caf::actor_cast<caf::abstract_actor*>(monitor));
  REQUIRE(state != nullptr);
  kill(caf::actor_cast<caf::actor>(state->state.executor));
  CHECK(status().recovering == std::vector<std::string>{"model-1"});
  recoverable();
  pass(100ms);
  pass(2s);
  CHECK(loaded().size() == 2);
  CHECK(status() == RecoveryStatus{.watched = {"model-2"}, .recovered = 1});
}

TEST_CASE_METHOD(Fixture, "What callbacks throw stops nothing", "[actors][recovery]") {
  callbacks.on_recovery = [](const RecoveredRun&) { throw std::runtime_error{"mine"}; };
  callbacks.on_failure = [](const std::string&, const Error&) { throw 7; };
  settings.notices = harmless_notices(
      [](const Notice&) { throw std::runtime_error{"notice"}; }); // as a session has them
  SECTION("on a recovery") {
    open_and_watch();
    break_client();
    CHECK(status() == RecoveryStatus{.watched = {"model-2"}, .recovered = 1});
  }
  SECTION("on a failure") {
    policy.max_attempts = 1;
    unrecoverable(500);
    open_and_watch();
    break_client();
    CHECK(status() == RecoveryStatus{.given_up = 1});
  }
}

TEST_CASE_METHOD(Fixture, "A run that cannot be asked for is told of once", "[actors][recovery]") {
  replies.insert_or_assign("/api/v1/training_runs/model-1?", test::json(500, "{}"));
  open_and_watch();
  for (int i = 0; i < 3; ++i)
    pass(30s);
  CHECK(kinds() == std::vector<std::string>{"poll_error"});
  replies.insert_or_assign("/api/v1/training_runs/model-1?", test::json(200, run_json(false)));
  pass(30s);
  replies.insert_or_assign("/api/v1/training_runs/model-1?", test::json(500, "{}"));
  pass(30s);
  CHECK(kinds() == std::vector<std::string>{"poll_error", "poll_error"});
}

TEST_CASE_METHOD(Fixture, "Recovery is off unless it is switched on", "[actors][recovery]") {
  policy.enabled = false;
  open();
  auto refused = watch({.training_run_id = "model-1", .client = client});
  REQUIRE(refused->has_value());
  CHECK((*refused)->error().code == Errc::invalid_argument);
  CHECK((*refused)->error().message.find("recovery is disabled") == 0);
  break_client();
  CHECK(loaded().empty());
}

TEST_CASE_METHOD(Fixture, "A run that is forgotten is left alone", "[actors][recovery]") {
  open_and_watch();
  caf::anon_send(monitor, atom::forget_v, std::string{"model-1"});
  corrupt();
  pass(1min);
  break_client();
  CHECK(events.empty());
}
