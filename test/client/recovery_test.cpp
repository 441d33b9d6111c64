// SPDX-License-Identifier: Apache-2.0
#include "client/recovery.hpp"

#include "actors/recovery_monitor.hpp"
#include "client/handles.hpp"
#include "client/training_client.hpp"
#include "test/client/local_service.hpp"

#include <caf/scoped_actor.hpp>

#include <future>

using namespace std::chrono_literals;
using namespace tinkaf;

// Recovery against the local server over a real socket.

TEST_CASE_METHOD(test::LocalService, "Plain code has its clients watched and gets the new ones",
                 "[client][recovery][end-to-end]") {
  auto service = connect();
  auto client = train(service);
  REQUIRE(client.save_state("half").get().has_value());
  REQUIRE(client.save_state("worse").get().has_value());
  std::promise<Recovery> recovered;
  std::promise<std::string> lost;
  auto monitor = RecoveryMonitor::start(
      service, {.enabled = true, .max_attempts = 1, .strategy = RecoveryStrategy::best},
      {.on_recovery = [&](const Recovery& x) { recovered.set_value(x); },
       .on_failure = [&](const std::string& run, const Error&) { lost.set_value(run); }});
  REQUIRE(monitor.has_value());
  REQUIRE(monitor->watch(client).has_value());
  auto path = "tinker://" + client.model_id() + "/weights/";
  monitor->rate(client.model_id(), {path + "half", 1.0});
  monitor->rate(client.model_id(), {path + "worse", 2.0});
  caf::anon_send_exit(handle(client), caf::exit_reason::kill);

  auto next = recovered.get_future().get();
  CHECK(next.old_run_id == client.model_id());
  CHECK(next.checkpoint == path + "half");
  CHECK(next.client.optim_step().get().has_value());
  auto status = monitor->status();
  REQUIRE(status.has_value());
  CHECK(status->watched == std::vector<std::string>{next.client.model_id()});

  // Its checkpoints are those of a run that is still there; now there is none.
  auto rest = service.create_rest_client();
  REQUIRE(rest.has_value());
  for (const auto* name : {"half", "worse"})
    REQUIRE(rest->delete_checkpoint_from_tinker_path(path + name).get().has_value());
  caf::anon_send_exit(handle(next.client), caf::exit_reason::kill);
  CHECK(lost.get_future().get() == next.client.model_id());
}

TEST_CASE("A monitor that recovers nothing is refused", "[client][recovery]") {
  test::LocalService local;
  auto service = local.connect();
  auto bad = RecoveryMonitor::start(service, {.enabled = true, .max_attempts = 0}, {});
  REQUIRE_FALSE(bad.has_value());
  CHECK(bad.error().message.find("recovery.max_attempts is 0") == 0);
  auto off = RecoveryMonitor::start(service, {}, {});
  REQUIRE(off.has_value());
  auto refused = off->watch(test::LocalService::train(service));
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message.find("recovery is disabled") == 0);
}

TEST_CASE_METHOD(test::LocalService, "A run whose client breaks goes on with the weights it had",
                 "[client][recovery][end-to-end]") {
  auto data = make_batch({Datum{
      .model_input = ModelInput::from_ints({10, 40, 41}),
      .loss_fn_inputs = {{"target_tokens", TensorData::of(std::vector<std::int64_t>{40, 41, 42})},
                         {"weights", TensorData::of(std::vector<float>{1, 1, 1})}}}});
  auto service = connect();
  auto client = train(service);
  REQUIRE(client.forward_backward(data).get().has_value());
  REQUIRE(client.optim_step({.learning_rate = 1e-2}).get().has_value());
  REQUIRE(client.save_state("half").get().has_value());
  auto before = client.forward(data).get();
  REQUIRE(before.has_value());

  auto rest = service.create_rest_client();
  REQUIRE(rest.has_value());
  std::promise<RecoveredRun> recovered;
  auto monitor = spawn_recovery(
      actor_system(service),
      {.policy = {.enabled = true, .poll_interval = 50ms},
       .callbacks = {.on_recovery = [&](const RecoveredRun& x) { recovered.set_value(x); }},
       .session = handle(service),
       .rest = handle(*rest)});
  REQUIRE(monitor.has_value());
  caf::scoped_actor self{actor_system(service)};
  self->request(*monitor, 60s,
                WatchedRun{.training_run_id = client.model_id(), .client = handle(client)})
      .receive([](Done) {}, [](const caf::error& error) { FAIL(to_string(from_caf(error))); });
  self->send_exit(handle(client), caf::exit_reason::kill);

  auto run = recovered.get_future().get();
  CHECK(run.old_run_id == client.model_id());
  CHECK(run.training_run_id != client.model_id());
  CHECK(run.checkpoint == "tinker://" + client.model_id() + "/weights/half");
  self->request(run.client, 60s, atom::forward_v, ForwardBackwardInput{data})
      .receive(
          [&](const ForwardBackwardOutput& after) {
            CHECK(after.metrics.at("loss:sum") == before->metrics.at("loss:sum"));
          },
          [](const caf::error& error) { FAIL(to_string(from_caf(error))); });
  self->send_exit(*monitor, caf::exit_reason::user_shutdown);
}
