// SPDX-License-Identifier: Apache-2.0
#include "test/server/server_fixture.hpp"

#include <thread>

using namespace std::chrono_literals;
using namespace tinkaf;
using namespace tinkaf::test;

namespace {

using Log = std::vector<std::string>;

constexpr auto pass_type = RequestType::forward_backward;

} // namespace

TEST_CASE_METHOD(ServerFixture, "Operations take effect in the order of their numbers",
                 "[server][order]") {
  auto api = client();
  const auto model = api.model(api.session());
  const auto fourth = api.submit("optim_step", step(model, 4));
  (void)api.submit("forward_backward", pass(model, 2, 2));
  (void)api.submit("forward", pass(model, 3, 3, true));
  (void)api.submit("forward_backward", pass(model, 1, 1));
  (void)api.result<OptimStepResponse>(RequestType::optim_step, fourth);
  CHECK(trainer->log()
        == Log{"create", "forward_backward 1", "forward_backward 2", "forward 3", "optim_step"});
}

TEST_CASE_METHOD(ServerFixture, "A request that comes again runs once", "[server][order]") {
  auto api = client();
  const auto model = api.model(api.session());
  trainer->hold();
  const auto first = api.submit("forward_backward", pass(model, 1, 5));
  CHECK(api.submit("forward_backward", pass(model, 1, 5)) == first); // while it runs
  trainer->release();
  (void)api.result<ForwardBackwardOutput>(pass_type, first);
  CHECK(api.submit("forward_backward", pass(model, 1, 5)) == first); // and afterwards

  const auto other = api.post("forward_backward", pass(model, 1, 6));
  CHECK(other.status == 409);
  CHECK(other.body.find("seq_id: 1 was used") != std::string::npos);
  CHECK(other.headers.at("x-should-retry") == "false");
  const auto next = api.submit("optim_step", step(model, 2));
  (void)api.result<OptimStepResponse>(RequestType::optim_step, next);
  CHECK(trainer->log() == Log{"create", "forward_backward 5", "optim_step"});
}

TEST_CASE_METHOD(ServerFixture, "Sent by many at the same time, a request runs once",
                 "[server][order]") {
  auto api = client();
  const auto model = api.model(api.session());
  std::vector<std::string> ids(8);
  std::vector<std::thread> threads;
  for (auto& id : ids)
    threads.emplace_back([&] {
      const auto answer = ApiClient{*server}.post("forward_backward", pass(model, 1, 5));
      id = wire::from_json<FutureRef>(answer.body).value_or(FutureRef{}).request_id;
    });
  for (auto& thread : threads)
    thread.join();
  CHECK(ids == std::vector(8, ids.front()));
  (void)api.result<ForwardBackwardOutput>(pass_type, ids.front());
  CHECK(trainer->log() == Log{"create", "forward_backward 5"});
}

TEST_CASE_METHOD(ServerFixture, "A refused request uses its number up", "[server][order]") {
  auto api = client();
  const auto model = api.model(api.session());
  const auto last = api.submit("optim_step", step(model, 3));
  CHECK(api.post("forward_backward", pass(model, 1, 5000)).status == 400);
  const auto again = api.post("forward_backward", pass(model, 1, 5000));
  CHECK(again.status == 400);
  CHECK(again.body.find("data[0].model_input: token 5000") != std::string::npos);
  // One that cannot even be read.
  CHECK(
      api.post("optim_step", R"({"model_id":")" + model + R"(","seq_id":2,"adam_params":7})").status
      == 400);
  (void)api.result<OptimStepResponse>(RequestType::optim_step, last);
  CHECK(trainer->log() == Log{"create", "optim_step"});
}

TEST_CASE_METHOD(ServerFixture, "A failed operation does not stop those behind it",
                 "[server][order]") {
  auto api = client();
  const auto model = api.model(api.session());
  const auto bad = api.submit("forward_backward", pass(model, 1, 13));
  const auto good = api.submit("optim_step", step(model, 2));
  const auto failure = api.failure(pass_type, bad);
  CHECK(failure.error == "data[0]: 13 brings bad luck");
  CHECK(api.failure(pass_type, bad).error == failure.error);
  (void)api.result<OptimStepResponse>(RequestType::optim_step, good);
}

TEST_CASE_METHOD(ServerFixture, "A number that never comes fails those behind it",
                 "[server][order]") {
  options.limits.gap = 0ms;
  restart();
  auto api = client();
  const auto model = api.model(api.session());
  const auto waits = api.submit("optim_step", step(model, 3));
  const auto failure = api.failure(RequestType::optim_step, waits);
  CHECK(failure.category == ErrorCategory::user);
  CHECK(failure.error.find("number 1 ") != std::string::npos);
  const auto late = api.post("forward_backward", pass(model, 1, 5));
  CHECK(late.status == 400);
  CHECK(late.body.find("given up") != std::string::npos);
  (void)api.result<OptimStepResponse>(RequestType::optim_step,
                                      api.submit("optim_step", step(model, 4)));
}

TEST_CASE_METHOD(ServerFixture, "Operations without numbers run as they come", "[server][order]") {
  auto api = client();
  const auto model = api.model(api.session());
  (void)api.submit("forward_backward", pass(model, {}, 1));
  (void)api.submit("forward_backward", pass(model, {}, 1));
  (void)api.result<OptimStepResponse>(RequestType::optim_step,
                                      api.submit("optim_step", step(model, {})));
  CHECK(trainer->log() == Log{"create", "forward_backward 1", "forward_backward 1", "optim_step"});
}

TEST_CASE_METHOD(ServerFixture, "Models take turns", "[server][order]") {
  auto api = client();
  const auto session = api.session();
  const auto one = api.model(session, 0);
  const auto two = api.model(session, 1);
  CHECK(one == session + ":train:0");
  trainer->hold();
  (void)api.submit("forward_backward", pass(one, 1, 11));
  trainer->wait_for_begun(3);
  (void)api.submit("forward_backward", pass(one, 2, 12));
  const auto last = api.submit("forward_backward", pass(one, 3, 14));
  (void)api.submit("forward_backward", pass(two, 1, 21));
  trainer->release();
  (void)api.result<ForwardBackwardOutput>(pass_type, last);
  CHECK(trainer->log()
        == Log{"create", "create", "forward_backward 11", "forward_backward 12",
               "forward_backward 21", "forward_backward 14"});
}

TEST_CASE_METHOD(ServerFixture, "Too many waiting operations are held off, but for the next",
                 "[server][order]") {
  options.limits.max_queued_operations = 2;
  restart();
  auto api = client();
  const auto model = api.model(api.session());
  (void)api.submit("forward_backward", pass(model, 2, 2));
  (void)api.submit("forward_backward", pass(model, 3, 3));
  const auto refused = api.post("forward_backward", pass(model, 4, 4));
  CHECK(refused.status == 429);
  CHECK(refused.headers.contains("retry-after"));
  const auto first = api.submit("forward_backward", pass(model, 1, 1));
  (void)api.result<ForwardBackwardOutput>(pass_type, first);
  const auto third = api.submit("forward_backward", pass(model, 3, 3));
  (void)api.result<ForwardBackwardOutput>(pass_type, third);
  (void)api.submit("forward_backward", pass(model, 4, 4));
}

TEST_CASE_METHOD(ServerFixture, "A model is unloaded behind its work, twice if need be",
                 "[server][order]") {
  auto api = client();
  const auto model = api.model(api.session());
  const auto done = api.submit("forward_backward", pass(model, 1, 1));
  const auto stuck = api.submit("optim_step", step(model, 3));
  const auto body = wire::to_json(UnloadModelRequest{model});
  for (int i = 0; i < 2; ++i)
    CHECK(
        api.result<UnloadModelResponse>(RequestType::unload_model, api.submit("unload_model", body))
            .model_id
        == model);
  CHECK(trainer->models() == 0);
  (void)api.result<ForwardBackwardOutput>(pass_type, done);
  CHECK(api.failure(RequestType::optim_step, stuck).error.find("unloaded") != std::string::npos);
  const auto late = api.post("optim_step", step(model, 4));
  CHECK(late.status == 404);
  CHECK(late.body.find("unloaded") != std::string::npos);
}

TEST_CASE_METHOD(ServerFixture, "A trainer that breaks takes only its model along",
                 "[server][order]") {
  auto api = client();
  const auto session = api.session();
  const auto broken = api.model(session, 0);
  const auto whole = api.model(session, 1);
  const auto bad = api.submit("forward_backward", pass(broken, 1, 66));
  const auto failure = api.failure(pass_type, bad);
  CHECK(failure.category == ErrorCategory::server);
  CHECK(failure.error.find("66 breaks the trainer") != std::string::npos);
  const auto next = api.submit("optim_step", step(broken, 2));
  CHECK(api.failure(RequestType::optim_step, next).error.find("lost") != std::string::npos);
  (void)api.result<ForwardBackwardOutput>(pass_type,
                                          api.submit("forward_backward", pass(whole, 1, 1)));
}

TEST_CASE_METHOD(ServerFixture, "The making of a model that comes again makes one",
                 "[server][order]") {
  auto api = client();
  CreateModelRequest request{.session_id = api.session(), .base_model = "scripted"};
  request.lora_config = LoraConfig{.rank = 4};
  const auto id = api.submit("create_model", wire::to_json(request));
  CHECK(api.submit("create_model", wire::to_json(request)) == id);
  request.lora_config->rank = 8;
  CHECK(api.post("create_model", wire::to_json(request)).status == 409);
  (void)api.result<CreateModelResponse>(RequestType::create_model, id);
  CHECK(trainer->log() == Log{"create"});
}

TEST_CASE_METHOD(ServerFixture, "A session that its client finishes ends with its models",
                 "[server][session]") {
  auto api = client();
  const auto session = api.session();
  const auto other = api.session();
  const auto model = api.model(session);
  const auto stuck = api.submit("optim_step", step(model, 2));
  const auto finish = [&](const std::string& id, const std::string& body) {
    return api.post("sessions/" + id + "/finish", body).status;
  };
  CHECK(finish(session, R"({"reason":{"type":"tired"}})") == 400);
  CHECK(finish(session, R"({"reason":"success"})") == 400);
  CHECK(finish("no-session", R"({"reason":{"type":"success"}})") == 404);
  CHECK(finish(session, R"({"reason":{"type":"success"},"detail":"done"})") == 200);
  CHECK(api.failure(RequestType::optim_step, stuck).error.find("finished") != std::string::npos);
  CHECK(api.post("session_heartbeat", wire::to_json(SessionHeartbeatRequest{session})).status
        == 404);
  CHECK(api.post("optim_step", step(model, 1)).status == 404);
  CHECK(finish(session, R"({"reason":{"type":"errored"}})") == 200); // the first one counts
  CHECK(api.post("session_heartbeat", wire::to_json(SessionHeartbeatRequest{other})).status == 200);
}

TEST_CASE_METHOD(ServerFixture, "A silent session ends with its models", "[server][session]") {
  auto api = client();
  const auto session = api.session();
  const auto model = api.model(session);
  const auto stuck = api.submit("optim_step", step(model, 2));
  options.limits.session_expiry = 100ms; // from here on, so that none ends while it is set up
  restart();
  api = client();
  CHECK(api.failure(RequestType::optim_step, stuck).error.find("session") != std::string::npos);
  CHECK(api.post("session_heartbeat", wire::to_json(SessionHeartbeatRequest{session})).status
        == 404);
  CHECK(api.post("optim_step", step(model, 1)).status == 404);
}
