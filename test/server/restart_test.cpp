// SPDX-License-Identifier: Apache-2.0
#include "test/server/restart_fixture.hpp"

using namespace tinkaf;
using namespace tinkaf::test;
using Log = std::vector<std::string>;

TEST_CASE_METHOD(RestartFixture,
                 "What was accepted and not begun is done after a restart, in order",
                 "[server][restart]") {
  trainer->hold();
  (void)api.submit("forward", pass(model, 1, 1, true)); // runs
  trainer->wait_for_begun(2);
  const auto second = api.submit("forward_backward", pass(model, 3, 3));
  const auto last = api.submit("optim_step", step(model, 4));
  const auto first = api.submit("forward_backward", pass(model, 2, 2));
  kill();
  CHECK(api.submit("forward_backward", pass(model, 3, 3)) == second);
  CHECK(api.submit("optim_step", step(model, 4)) == last);
  CHECK(api.post("forward_backward", pass(model, 3, 5)).status == 409);
  (void)api.result<OptimStepResponse>(RequestType::optim_step, last);
  (void)api.result<ForwardBackwardOutput>(RequestType::forward_backward, first);
  CHECK(trainer->log()
        == Log{"create", "forward 1", "forward_backward 2", "forward_backward 3", "optim_step"});
  CHECK(learned(5, 0) == std::vector<Token>{2, 3});
}

TEST_CASE_METHOD(RestartFixture, "What ran when the server was killed runs again",
                 "[server][restart]") {
  trainer->hold();
  const auto id = api.submit("forward_backward", pass(model, 1, 4));
  trainer->wait_for_begun(2);
  kill();
  (void)api.result<ForwardBackwardOutput>(RequestType::forward_backward, id);
  CHECK(trainer->log() == Log{"create", "forward_backward 4"});
}

TEST_CASE_METHOD(RestartFixture, "A result is the same after a restart, fetched before or not",
                 "[server][restart]") {
  const auto fetched = api.submit("forward_backward", pass(model, 1, 4));
  const auto before = poll(fetched);
  const auto failed = api.submit("forward_backward", pass(model, 2, 13));
  const auto reason = poll(failed);
  const auto unfetched = api.submit("optim_step", step(model, 3));
  trainer->wait_for_begun(4);
  (void)api.result<ForwardBackwardOutput>( // so that the step is done
      RequestType::forward, api.submit("forward", pass(model, 4, 1, true)));
  kill();
  CHECK(poll(fetched) == before);
  CHECK(poll(failed) == reason);
  CHECK(poll(unfetched) == R"({"metrics":{"step:max":1.0}})");
  CHECK(trainer->log().empty()); // all of it was known
}

TEST_CASE_METHOD(RestartFixture, "Between a pass and its step the gradient outlives the server",
                 "[server][restart]") {
  learn(1, 1);
  (void)api.result<ForwardBackwardOutput>(RequestType::forward_backward,
                                          api.submit("forward_backward", pass(model, 3, 2)));
  kill();
  (void)api.result<OptimStepResponse>(RequestType::optim_step,
                                      api.submit("optim_step", step(model, 4)));
  CHECK(learned(5, 0) == std::vector<Token>{1, 2});
}

TEST_CASE_METHOD(RestartFixture, "A stored state is gone on from, and no step is taken twice",
                 "[server][restart]") {
  options.limits.repeated_work = std::chrono::milliseconds{0};
  restart();
  api = client();
  learn(1, 1);
  (void)api.result<ForwardBackwardOutput>(RequestType::forward_backward,
                                          api.submit("forward_backward", pass(model, 3, 2)));
  wait_for_state(4);
  kill();
  const auto again = api.submit("optim_step", step(model, 5));
  const auto done = api.result<OptimStepResponse>(RequestType::optim_step, again);
  CHECK(done.metrics.at("step:max") == 2);
  wait_for_state(6);
  CHECK(trainer->log() == Log{"restore", "optim_step", "forward 1"});
  kill();
  CHECK(api.submit("optim_step", step(model, 5)) == again);
  CHECK(learned(7, 0) == std::vector<Token>{1, 2});
  CHECK(trainer->log() == Log{"restore", "save_for_sampler", "sample"});
}

TEST_CASE_METHOD(RestartFixture, "Gaps, refusals and their numbers are as they were",
                 "[server][restart]") {
  const auto refusal = api.post("forward_backward", pass(model, 1, 1'000)).body;
  const auto third = api.submit("forward_backward", pass(model, 3, 3));
  kill();
  CHECK(api.post("forward_backward", pass(model, 1, 1'000)).body == refusal);
  const auto second = api.submit("forward_backward", pass(model, 2, 2));
  (void)api.result<ForwardBackwardOutput>(RequestType::forward_backward, third);
  (void)api.result<ForwardBackwardOutput>(RequestType::forward_backward, second);
  CHECK(trainer->log() == Log{"create", "forward_backward 2", "forward_backward 3"});
}

TEST_CASE_METHOD(RestartFixture, "A model whose making was cut off is made after a restart",
                 "[server][restart]") {
  trainer->hold();
  CreateModelRequest request{.session_id = session, .model_seq_id = 1, .base_model = "scripted"};
  request.lora_config = LoraConfig{.rank = 4};
  const auto id = api.submit("create_model", wire::to_json(request));
  kill();
  CHECK(api.submit("create_model", wire::to_json(request)) == id);
  CHECK(api.result<CreateModelResponse>(RequestType::create_model, id).model_id
        == session + ":train:1");
  CHECK(trainer->log() == Log{"create"});
}

TEST_CASE_METHOD(RestartFixture, "Sessions, samplers and samples outlive the server",
                 "[server][restart]") {
  (void)api.put("sessions/" + session + "/project", R"({"project_id":"p"})");
  learn(1, 5);
  const auto named = api.submit(
      "save_weights_for_sampler",
      wire::to_json(SaveWeightsForSamplerRequest{.model_id = model, .seq_id = 3, .path = "x"}));
  const auto path
      = api.result<SaveWeightsForSamplerResponse>(RequestType::save_weights_for_sampler, named)
            .path.value();
  const auto open = wire::to_json(CreateSamplingSessionRequest{
      .session_id = session, .sampling_session_seq_id = 8, .model_path = path});
  REQUIRE(api.post("create_sampling_session", open).status == 200);
  const auto sampler = session + ":sample:8";
  const auto drawn = api.submit("asample", sample(sampler, 0));
  const auto tokens = api.result<SampleResponse>(RequestType::sample, drawn);
  trainer->hold();
  const auto waiting = api.submit("asample", sample(sampler, 1));
  REQUIRE(api.remove("training_runs/" + model + "/checkpoints/sampler_weights/x").status == 204);
  kill();
  CHECK(api.post("session_heartbeat", wire::to_json(SessionHeartbeatRequest{.session_id = session}))
            .status
        == 200);
  CHECK(api.get("sessions/" + session).body.find(sampler) != std::string::npos);
  CHECK(api.post("create_sampling_session", open).status == 404); // the checkpoint is gone
  CHECK(api.submit("asample", sample(sampler, 0)) == drawn);
  CHECK(api.result<SampleResponse>(RequestType::sample, drawn).sequences == tokens.sequences);
  CHECK(api.submit("asample", sample(sampler, 1)) == waiting);
  const auto late = api.result<SampleResponse>(RequestType::sample, waiting);
  CHECK(late.sequences.at(0).tokens.at(0) == 5);
  kill();
  CHECK(api.result<SampleResponse>(RequestType::sample, waiting).sequences == late.sequences);
  const auto next = api.submit("asample", sample(sampler, 2));
  CHECK(api.result<SampleResponse>(RequestType::sample, next).sequences.at(0).tokens.at(0) == 5);
}

TEST_CASE_METHOD(RestartFixture, "An unloaded model stays unloaded, behind all it had to do",
                 "[server][restart]") {
  trainer->hold();
  const auto pending = api.submit("forward_backward", pass(model, 1, 1));
  const auto gapped = api.submit("forward_backward", pass(model, 3, 3));
  const auto unload
      = api.submit("unload_model", wire::to_json(UnloadModelRequest{.model_id = model}));
  kill();
  (void)api.result<UnloadModelResponse>(RequestType::unload_model, unload);
  (void)api.result<ForwardBackwardOutput>(RequestType::forward_backward, pending);
  CHECK(api.failure(RequestType::forward_backward, gapped).error.find("unloaded by its client")
        != std::string::npos);
  const auto answer = api.post("forward_backward", pass(model, 4, 4));
  CHECK(answer.status == 404);
  CHECK(answer.body.find("unloaded: by its client") != std::string::npos);
}

TEST_CASE_METHOD(RestartFixture, "A save that was cut off behind its rename is no conflict",
                 "[server][restart]") {
  learn(1, 1);
  trainer->hold();
  const auto body = wire::to_json(SaveWeightsRequest{.model_id = model, .seq_id = 3, .path = "a"});
  const auto id = api.submit("save_weights", body);
  copy_state();
  trainer->release();
  const auto path = api.result<SaveWeightsResponse>(RequestType::save_weights, id).path;
  // The checkpoint is there, but nobody has written down that the save is done.
  std::filesystem::copy(options.state_dir / "checkpoints", copy / "checkpoints",
                        std::filesystem::copy_options::recursive
                            | std::filesystem::copy_options::overwrite_existing);
  start();
  CHECK(api.submit("save_weights", body) == id);
  CHECK(api.result<SaveWeightsResponse>(RequestType::save_weights, id).path == path);
  CHECK(api.post("save_weights",
                 wire::to_json(SaveWeightsRequest{.model_id = model, .seq_id = 4, .path = "a"}))
            .status
        == 409);
}

TEST_CASE_METHOD(RestartFixture, "A lost model stays lost, and other models go on",
                 "[server][restart]") {
  const auto other = api.model(session, 1);
  const auto bad = api.submit("forward_backward", pass(model, 1, 66));
  (void)api.failure(RequestType::forward_backward, bad);
  kill();
  const auto next = api.post("forward_backward", pass(model, 2, 1));
  CHECK(next.status == 404);
  CHECK(next.body.find("an operation broke the model; it has no checkpoint to go on from")
        != std::string::npos);
  (void)api.result<ForwardBackwardOutput>(RequestType::forward_backward,
                                          api.submit("forward_backward", pass(other, 1, 1)));
}

TEST_CASE_METHOD(RestartFixture, "Results end with their retention, also across restarts",
                 "[server][restart]") {
  using namespace std::chrono_literals;
  const auto status = [&](const std::string& id) {
    return api.post("retrieve_future", ApiClient::poll_body(id)).status;
  };
  const auto id = api.submit("optim_step", step(model, 1));
  (void)api.result<OptimStepResponse>(RequestType::optim_step, id);
  passed = 59min;
  kill();
  CHECK(status(id) == 200);
  passed = 61min;
  kill();
  CHECK(status(id) == 410);
  passed = 26h;
  kill();
  CHECK(status(id) == 404);
  CHECK(api.submit("optim_step", step(model, 1)) == id); // it was taken once and for all
}

TEST_CASE_METHOD(RestartFixture, "A clock that was set back or runs ahead loses nothing accepted",
                 "[server][restart]") {
  using namespace std::chrono_literals;
  learn(1, 1);
  const auto kept = api.submit("forward_backward", pass(model, 3, 2));
  const auto result = poll(kept);
  trainer->hold();
  const auto unfinished = api.submit("optim_step", step(model, 4));
  copy_state();
  SECTION("set back") {
    passed = -48h;
    start();
    CHECK(poll(kept) == result);
  }
  SECTION("ahead") {
    passed = 48h;
    start();
    // Its time is over, and so is that in which it is remembered that there was one.
    CHECK(api.post("retrieve_future", ApiClient::poll_body(kept)).status == 404);
  }
  (void)api.result<OptimStepResponse>(RequestType::optim_step, unfinished);
  learn(5, 3);
  CHECK(learned(7, 1) == std::vector<Token>{1, 2, 3});
}

TEST_CASE_METHOD(RestartFixture,
                 "A server ends with models that nobody has used since it was started",
                 "[server][restart]") {
  learn(1, 1);
  kill();
  server.reset();
  CHECK(trainer->log().empty());
  CHECK(trainer.use_count() == 1); // models hold their trainer, and with it the base model
}
