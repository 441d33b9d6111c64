// SPDX-License-Identifier: Apache-2.0
#include "test/server/clock_fixture.hpp"

#include <rapidjson/document.h>

using namespace tinkaf;
using namespace tinkaf::test;

// What this server tells beside what every service does.

namespace {

struct Fixture : ClockFixture {
  rapidjson::Document json(const HttpAnswer& answer) {
    rapidjson::Document out;
    out.Parse(check(answer, 200).c_str());
    REQUIRE_FALSE(out.HasParseError());
    return out;
  }

  /// Polls once, with an answer that is "not yet".
  rapidjson::Document not_yet(const std::string& request_id) {
    auto out = json(api.post("retrieve_future", ApiClient::poll_body(request_id)));
    REQUIRE(std::string{out["type"].GetString()} == "try_again");
    return out;
  }

  HttpAnswer close(const std::string& session_id) {
    return api.post("sessions/" + session_id + "/finish", R"({"reason":{"type":"success"}})");
  }
};

struct ShortPolls : Fixture {
  ShortPolls() {
    options.limits.poll_hold = std::chrono::milliseconds{1};
    begin();
  }
};

} // namespace

TEST_CASE_METHOD(Fixture, "A session is closed by its client, once or twice", "[server][session]") {
  const auto other = api.session();
  const auto sampler = api.post(
      "create_sampling_session",
      wire::to_json(CreateSamplingSessionRequest{.session_id = session, .base_model = "scripted"}));
  CHECK(sampler.status == 200);
  check(close(session), 200);
  check(close(session), 200);
  CHECK(refusal(close("nobody"), 404)
        == "session_id: there is no session `nobody`, or it has ended");
  CHECK(refusal(api.post("optim_step", step(model, 1)), 404)
        == "model_id: the model `" + model
               + "` is unloaded: since its client has finished the session");
  check(api.post("asample", sample(session + ":sample:0", 0)), 404);
  check(api.post("session_heartbeat", wire::to_json(SessionHeartbeatRequest{session})), 404);
  check(api.post("session_heartbeat", wire::to_json(SessionHeartbeatRequest{other})), 200);

  restart(); // it stays closed
  api = client();
  check(api.post("session_heartbeat", wire::to_json(SessionHeartbeatRequest{session})), 404);
}

TEST_CASE_METHOD(Fixture, "Listings tell what is live", "[server][session]") {
  const auto before = json(api.get("sessions"));
  REQUIRE(before["details"].Size() == 1);
  CHECK(before["details"][0]["live"].GetBool());
  CHECK(before["details"][0]["models"].GetInt() == 1);
  CHECK(json(api.get("sessions/" + session))["live"].GetBool());
  CHECK(read<TrainingRun>("training_runs/" + model).live == true);
  check(close(session), 200);
  CHECK(json(api.get("sessions"))["sessions"].Empty());
  const auto after = json(api.get("sessions?include_ended=true"));
  REQUIRE(after["details"].Size() == 1);
  CHECK_FALSE(after["details"][0]["live"].GetBool());
  CHECK(std::string{after["details"][0]["ended_reason"].GetString()}
        == "since its client has finished the session");
  CHECK_FALSE(json(api.get("sessions/" + session))["live"].GetBool());
  CHECK(read<TrainingRun>("training_runs/" + model).live == false);
  CHECK(refusal(api.get("sessions?include_ended=maybe"), 400)
        == "include_ended: must be true or false, but is `maybe`");
}

TEST_CASE_METHOD(ShortPolls, "Who waits is told how long, behind how much, and what runs",
                 "[server][polls]") {
  trainer->hold();
  const auto first = api.submit("forward_backward", pass(model, 1, 5));
  trainer->wait_for_begun(2); // the making of the model is the first
  const auto second = api.submit("optim_step", step(model, 2));
  const auto other
      = api.submit("create_model",
                   R"({"session_id":")" + session
                       + R"(","model_seq_id":1,"base_model":"scripted","lora_config":{"rank":4}})");
  const auto of_first = not_yet(first);
  CHECK(of_first["queue_depth"].GetInt() == 0);
  CHECK(of_first["queue_total"].GetInt() == 3);
  CHECK(of_first["running"]["this_request"].GetBool());
  CHECK(std::string{of_first["running"]["type"].GetString()} == "ForwardBackward");
  const auto of_second = not_yet(second);
  CHECK(of_second["queue_depth"].GetInt() == 1);
  CHECK(std::string{of_second["queue_state"].GetString()} == "active");
  CHECK_FALSE(of_second["running"]["this_request"].GetBool());
  CHECK(of_second["waited_sec"].GetDouble() >= 0);
  CHECK(of_second["running"]["seconds"].GetDouble() >= 0);
  CHECK(not_yet(other)["queue_depth"].GetInt() == 0);
  trainer->release();
  (void)api.result<OptimStepResponse>(RequestType::optim_step, second);
}

TEST_CASE_METHOD(ShortPolls, "Who waits for a missing number is told which", "[server][polls]") {
  const auto early = api.submit("optim_step", step(model, 3));
  const auto told = not_yet(early);
  CHECK(std::string{told["queue_state"].GetString()} == "paused_capacity");
  CHECK(std::string{told["queue_state_reason"].GetString()}
        == "this waits for the request number 1 of its model, which has not come; after 600 s it "
           "is given up");
}

TEST_CASE_METHOD(ShortPolls, "A model beyond the limit waits for room, with the reason",
                 "[server][limits]") {
  options.limits.max_models = 1;
  begin(); // the model of the earlier server sleeps, and does not count
  const auto body = [&](int number) {
    return R"({"session_id":")" + session + R"(","model_seq_id":)" + std::to_string(number)
           + R"(,"base_model":"scripted","lora_config":{"rank":4}})";
  };
  const auto second = api.submit("create_model", body(5));
  const auto third = api.submit("create_model", body(6));
  for (const auto& id : {second, third}) {
    const auto told = not_yet(id);
    CHECK(std::string{told["queue_state"].GetString()} == "paused_capacity");
    CHECK(std::string{told["queue_state_reason"].GetString()}
          == "the server holds 1 models, which is the most (`max_models`); this waits until one is "
             "unloaded");
  }
  const auto unload = [&](const std::string& id) {
    check(api.post("unload_model", R"({"model_id":")" + id + R"("})"), 200);
  };
  unload(model);
  (void)api.result<CreateModelResponse>(RequestType::create_model, second);
  CHECK(std::string{not_yet(third)["queue_state"].GetString()} == "paused_capacity");
  unload(session + ":train:5");
  (void)api.result<CreateModelResponse>(RequestType::create_model, third);
}

TEST_CASE_METHOD(Fixture, "All limits are told with the models", "[server][limits]") {
  options.limits.max_models = 3;
  options.limits.gap = std::chrono::milliseconds{1500};
  begin();
  const auto told = json(api.get("get_server_capabilities"));
  CHECK(std::string{told["supported_models"][0]["model_name"].GetString()} == "scripted");
  CHECK(told["supported_models"][0]["max_context_length"].GetInt() == 64);
  const auto& limits = told["limits"];
  CHECK(limits["max_models"].GetInt() == 3);
  CHECK(limits["max_lora_rank"].GetInt() == 256);
  CHECK(limits["max_body_bytes"].GetInt() == 64 << 20);
  CHECK(limits["max_data"].GetInt() == 16'384);
  CHECK(limits["max_connections"].GetInt() == 16'384);
  CHECK(limits["gap_sec"].GetDouble() == 1.5);
}

TEST_CASE_METHOD(Fixture, "A batch beyond the limit is refused with its size", "[server][limits]") {
  options.limits.max_data = 2;
  begin();
  const auto batch = [&](std::vector<Datum> data) {
    return wire::to_json(
               ForwardBackwardRequest{.model_id = model,
                                      .seq_id = 1,
                                      .data = BatchSlice::whole(make_batch(std::move(data)))})
        .value();
  };
  CHECK(refusal(api.post("forward_backward", batch({datum(1), datum(2), datum(3)})), 400)
        == "data: holds 3 datums, but at most 2 are taken at once");
}

TEST_CASE_METHOD(Fixture, "Tokens are counted by run, a resend once, also over a restart",
                 "[server][usage]") {
  const auto counts = [&] { return read<TrainingRun>("training_runs/" + model).token_counts; };
  CHECK(counts() == TokenCounts{});
  const auto wait = [&](const std::string& id) {
    (void)api.result<ForwardBackwardOutput>(RequestType::forward_backward, id);
  };
  wait(api.submit("forward_backward", pass(model, 1, 5)));
  wait(api.submit("forward_backward", pass(model, 1, 5)));
  CHECK(counts() == TokenCounts{.train = 2});
  (void)api.result<OptimStepResponse>(RequestType::optim_step,
                                      api.submit("optim_step", step(model, 2)));
  const auto path = save_sampler("a");
  const auto draw = [&](std::int64_t number) {
    const auto made = api.post(
        "create_sampling_session",
        wire::to_json(CreateSamplingSessionRequest{.session_id = session, .model_path = path}));
    REQUIRE(made.status == 200);
    const auto id = api.submit("asample", sample(session + ":sample:0", number, 9));
    (void)api.result<SampleResponse>(RequestType::sample, id);
  };
  draw(0);
  draw(0);
  const TokenCounts expected{.train = 2, .prefill = 1, .sample = 2}; // 5 and the seed
  CHECK(counts() == expected);
  restart();
  api = client();
  CHECK(counts() == expected);
  draw(0);
  CHECK(counts() == expected);
  draw(1);
  CHECK(counts() == TokenCounts{.train = 2, .prefill = 2, .sample = 4});
}
