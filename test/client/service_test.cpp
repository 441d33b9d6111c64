// SPDX-License-Identifier: Apache-2.0
#include "client/service.hpp"

#include "client/handles.hpp"
#include "test/catch.hpp"
#include "test/client/local_service.hpp"

#include <caf/scoped_actor.hpp>

#include <atomic>
#include <optional>
#include <set>
#include <thread>

using namespace std::chrono_literals;
using namespace tinkaf;

// The façade against the local server over a real socket, with a model that is small and random.

namespace {

constexpr auto limit = 60s;

using Fixture = test::LocalService;

Batch batch() {
  return make_batch(
      {Datum{.model_input = ModelInput::from_ints({10, 40, 41, 42}),
             .loss_fn_inputs
             = {{"target_tokens", TensorData::of(std::vector<std::int64_t>{40, 41, 42, 43})},
                {"weights", TensorData::of(std::vector<float>{1, 1, 1, 1})}}}});
}

} // namespace

TEST_CASE_METHOD(Fixture, "A model learns over the wire, in either format",
                 "[client][end-to-end]") {
  auto format = GENERATE(WireFormat::automatic, WireFormat::protobuf, WireFormat::json);
  auto service = connect(format);
  auto client = train(service);
  std::optional<double> first;
  double last = 0;
  for (int i = 0; i < 8; ++i) {
    auto loss = client.forward_backward(batch());
    auto step = client.optim_step({.learning_rate = 1e-2});
    auto output = loss.get(limit);
    REQUIRE(output.has_value());
    REQUIRE(output->loss_fn_outputs.size() == 1);
    last = output->metrics.at("loss:sum");
    first = first.value_or(last);
    REQUIRE(step.get(limit).has_value());
  }
  CHECK(last < *first);
  auto again = client.forward(batch()).get(limit);
  REQUIRE(again.has_value());
  CHECK(again->metrics.at("loss:sum") < last);
}

TEST_CASE_METHOD(Fixture, "What was trained can be sampled, saved and resumed",
                 "[client][end-to-end]") {
  auto service = connect();
  auto client = train(service);
  (void)client.forward_backward(batch());
  (void)client.optim_step({.learning_rate = 1e-2});
  auto saved = client.save_state("step-1").get(limit);
  REQUIRE(saved.has_value());
  auto named = client.save_weights_for_sampler("sampler-1").get(limit);
  REQUIRE(named.has_value());
  REQUIRE(named->path.has_value());

  auto sampler = service.create_sampling_client(*named->path);
  REQUIRE(sampler.has_value());
  auto params = SamplingParams{.max_tokens = 4, .seed = 3};
  auto drawn = sampler->sample(ModelInput::from_ints({10, 40}), 2, params).get(limit);
  REQUIRE(drawn.has_value());
  CHECK(drawn->sequences.size() == 2);
  auto logprobs = sampler->compute_logprobs(ModelInput::from_ints({10, 40, 41})).get(limit);
  REQUIRE(logprobs.has_value());
  REQUIRE(logprobs->size() == 3);
  CHECK_FALSE(logprobs->front().has_value());

  auto unnamed = client.save_weights_and_get_sampling_client();
  REQUIRE(unnamed.has_value());
  CHECK(unnamed->sample(ModelInput::from_ints({10, 40}), 2, params).get(limit).value() == *drawn);

  auto before = client.forward(batch()).get(limit);
  auto resumed = service.create_training_client_from_state_with_optimizer(saved->path);
  REQUIRE(resumed.has_value());
  auto after = resumed->forward(batch()).get(limit);
  REQUIRE(before.has_value());
  REQUIRE(after.has_value());
  CHECK(after->metrics.at("loss:sum") == Catch::Approx(before->metrics.at("loss:sum")));
  REQUIRE(client.unload().get(limit).has_value());
}

TEST_CASE_METHOD(Fixture, "Calls of many threads are answered, each once", "[client][end-to-end]") {
  auto service = connect();
  auto client = train(service);
  std::vector<std::thread> threads;
  std::atomic<int> answered = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 5; ++k)
        answered += client.forward(batch()).get(limit).has_value() ? 1 : 0;
    });
  for (auto& thread : threads)
    thread.join();
  CHECK(answered == 20);
}

TEST_CASE_METHOD(Fixture, "A poller killed twice over the wire costs its caller nothing",
                 "[client][supervision][end-to-end]") {
  auto service = connect();
  auto client = train(service);
  caf::scoped_actor self{actor_system(service)};
  PollerSupervisorActor supervisor;
  self->request(handle(service), caf::infinite, atom::poller_supervisor_v)
      .receive([&](const PollerSupervisorActor& x) { supervisor = x; },
               [](const caf::error&) { FAIL("no supervisor"); });

  // In flight: hundreds of passes, accepted by the service; their pollers wait for results.
  std::vector<Future<ForwardBackwardOutput>> passes;
  for (int i = 0; i < 300; ++i)
    passes.push_back(client.forward(batch()));
  auto answer = passes.back();
  std::set<std::string> crashed;
  int kills = 0;
  while (kills < 2 && !answer.ready()) {
    self->request(supervisor, caf::infinite, atom::status_v)
        .receive(
            [&](const PollerStatuses& statuses) {
              for (const auto& status : statuses)
                if (status.poller && static_cast<int>(status.restarts) == kills
                    && (crashed.empty() || crashed.contains(status.request_id)) && kills < 2) {
                  crashed.insert(status.request_id);
                  self->send_exit(status.poller, caf::exit_reason::kill);
                  ++kills;
                  break;
                }
            },
            [](const caf::error&) { FAIL("no status"); });
  }
  for (const auto& pass : passes)
    REQUIRE(pass.get(limit).has_value());
  CHECK(kills > 0);
}

TEST_CASE_METHOD(Fixture, "A client ends at once although results are still to come",
                 "[client][shutdown]") {
  std::optional<Future<ForwardBackwardOutput>> late;
  {
    auto client = train(connect()); // the service handle is gone already
    for (int i = 0; i < 50; ++i)
      late = client.forward_backward(batch());
  }
  auto result = late->get(5s); // answered by the client's end, or by the service just before
  if (!result)
    CHECK(result.error().code == Errc::cancelled);
  CHECK(late->ready());
}

TEST_CASE_METHOD(Fixture, "Bad input is one clear error", "[client][errors]") {
  SECTION("a key that the service refuses") {
    auto service = Service::connect(options("tml-bad"));
    REQUIRE_FALSE(service.has_value());
    CHECK((service.error().http_status == 401 || service.error().http_status == 403));
    CHECK(to_string(service.error()).find("tml-bad") == std::string::npos);
  }
  SECTION("a key of the wrong form") {
    auto service = Service::connect(options("sk-wrong"));
    REQUIRE_FALSE(service.has_value());
    CHECK(service.error().code == Errc::unauthenticated);
    CHECK(to_string(service.error()).find("sk-wrong") == std::string::npos);
  }
  SECTION("a model that is not there") {
    auto service = connect();
    auto client = service.create_lora_training_client("no-such-model");
    REQUIRE_FALSE(client.has_value());
    CHECK(client.error().message.find("no-such-model") != std::string::npos);
  }
  SECTION("a service that is not there") {
    auto nowhere = options();
    server->stop();
    nowhere.retry.budget = 1s;
    auto service = Service::connect(std::move(nowhere));
    REQUIRE_FALSE(service.has_value());
    CHECK(service.error().code == Errc::connection);
  }
}
