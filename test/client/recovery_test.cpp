// SPDX-License-Identifier: Apache-2.0
#include "actors/recovery_monitor.hpp"
#include "client/handles.hpp"
#include "client/training_client.hpp"
#include "test/client/local_service.hpp"

#include <caf/scoped_actor.hpp>

#include <future>

using namespace std::chrono_literals;
using namespace tinkaf;

// Recovery against the local server over a real socket.

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
