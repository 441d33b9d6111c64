// SPDX-License-Identifier: Apache-2.0
#include "test/server/clock_fixture.hpp"

#include <algorithm>

using namespace std::chrono_literals;
using namespace tinkaf;
using namespace tinkaf::test;

TEST_CASE_METHOD(ClockFixture, "Sessions are listed in pages, the newest first",
                 "[server][session]") {
  const auto second = api.session();
  const auto third = api.session();
  CHECK(read<ListSessionsResponse>("sessions").sessions == std::vector{third, second, session});
  CHECK(read<ListSessionsResponse>("sessions?limit=1&offset=1&access_scope=owned").sessions
        == std::vector{second});
  CHECK(check(api.get("sessions?offset=3"), 200) == R"({"sessions":[],"details":[]})");
  CHECK(refusal(api.get("sessions?limit=0"), 400)
        == "limit: must be an integer in [1, 1000], but is `0`");
  CHECK(refusal(api.get("sessions?limit=ten"), 400)
        == "limit: must be an integer in [1, 1000], but is `ten`");
  CHECK(refusal(api.get("sessions?offset=-1"), 400)
        == "offset: must be an integer of at least 0, but is `-1`");
  CHECK(refusal(api.get("sessions?offset=99999999999999999999"), 400)
        == "offset: must be an integer of at least 0, but is `99999999999999999999`");
  CHECK(refusal(api.get("sessions?access_scope=all"), 400)
        == "access_scope: must be owned or accessible, but is `all`");
}

TEST_CASE_METHOD(ClockFixture, "A session tells what was made in it", "[server][session]") {
  const auto other = api.model(session, 1);
  (void)api.model(api.session());
  CreateSamplingSessionRequest base{.session_id = session, .base_model = "scripted"};
  CHECK(api.post("create_sampling_session", wire::to_json(base)).status == 200);
  auto made = read<GetSessionResponse>("sessions/" + session);
  std::sort(made.training_run_ids.begin(), made.training_run_ids.end());
  CHECK(made.training_run_ids == std::vector{model, other});
  CHECK(made.sampler_ids == std::vector{session + ":sample:0"});
  CHECK(refusal(api.get("sessions/gone"), 404)
        == "session_id: there is no session `gone`, or it has ended");
  CHECK(refusal(api.post("session_heartbeat", R"({"session_id":"gone"})"), 404)
        == "session_id: there is no session `gone`, or it has ended");
  CHECK(check(api.get("sessions/" + session + "/trace_export"), 200)
        == R"({"status":"failed","error":"the local server records no traces"})");
  CHECK(api.get("sessions/gone/trace_export").status == 404);
  CHECK(api.get("sessions/").status == 404);
}

TEST_CASE_METHOD(ClockFixture, "A sampler tells what it samples from", "[server][sampling]") {
  const auto path = save_sampler("a");
  CreateSamplingSessionRequest request{.session_id = session, .base_model = "scripted"};
  CHECK(api.post("create_sampling_session", wire::to_json(request)).status == 200);
  request = {.session_id = session, .sampling_session_seq_id = 1, .model_path = path};
  CHECK(api.post("create_sampling_session", wire::to_json(request)).status == 200);
  CHECK(read<GetSamplerResponse>("samplers/" + session + ":sample:0")
        == GetSamplerResponse{session + ":sample:0", "scripted", {}});
  CHECK(read<GetSamplerResponse>("samplers/" + session + "%3Asample%3A1")
        == GetSamplerResponse{session + ":sample:1", "scripted", path});
  CHECK(refusal(api.get("samplers/gone"), 404)
        == "sampling_session_id: there is no sampling session `gone`");
}

TEST_CASE_METHOD(ClockFixture, "A session is moved to a project, and its runs with it",
                 "[server][session]") {
  const auto put = [&](const std::string& id, const std::string& body) {
    return api.put("sessions/" + id + "/project", body);
  };
  CHECK(check(put(session, R"({"project_id":"p"})"), 200) == "{}");
  const auto later = api.model(session, 1);
  (void)api.model(api.session());
  const auto runs = read<TrainingRunsResponse>("training_runs?project_id=p");
  CHECK(runs.cursor.total_count == 2);
  for (const auto& run : runs.training_runs)
    CHECK((run.training_run_id == model || run.training_run_id == later));
  CHECK(read<TrainingRunsResponse>("training_runs?project_id=q").training_runs.empty());
  CHECK(read<TrainingRunsResponse>("training_runs").cursor.total_count == 3);
  CHECK(refusal(put("gone", R"({"project_id":"p"})"), 404).find("`gone`") != std::string::npos);
  CHECK(refusal(put(session, R"({"project_id":""})"), 400)
        == "project_id: must not be empty; a session cannot leave all projects");
  CHECK(refusal(put(session, "{}"), 400) == "project request: `project_id` is missing");
  CHECK(api.post("sessions/" + session + "/project", R"({"project_id":"p"})").status == 405);
}

TEST_CASE_METHOD(ClockFixture, "A run tells all that is known of it, also after a restart",
                 "[server][runs]") {
  CreateModelRequest create{.session_id = session,
                            .model_seq_id = 1,
                            .base_model = "scripted",
                            .user_metadata = {{"team", "red"}}};
  create.lora_config = LoraConfig{.rank = 8};
  model = api.result<CreateModelResponse>(RequestType::create_model,
                                          api.submit("create_model", wire::to_json(create)))
              .model_id;
  (void)save("old");
  wait(10s);
  const auto newest = save("new", 60);
  const auto for_sampler = save_sampler("s");
  wait(10s);
  learn(5);
  auto expected = read<TrainingRun>("training_runs/" + model);
  CHECK(expected.training_run_id == model);
  CHECK(expected.base_model == "scripted");
  CHECK(expected.model_owner == "local");
  CHECK(expected.is_lora);
  CHECK_FALSE(expected.corrupted);
  CHECK(expected.lora_rank == 8);
  CHECK(expected.user_metadata == UserMetadata{{"team", "red"}});
  CHECK(expected.last_request_time == Timestamp{1'900'000'020s});
  REQUIRE(expected.last_checkpoint.has_value());
  CHECK(*expected.last_checkpoint
        == Checkpoint{.checkpoint_id = "weights/new",
                      .checkpoint_type = CheckpointKind::training,
                      .time = Timestamp{1'900'000'010s},
                      .tinker_path = newest,
                      .size_bytes = 1,
                      .expires_at = Timestamp{1'900'000'070s}});
  REQUIRE(expected.last_sampler_checkpoint.has_value());
  CHECK(expected.last_sampler_checkpoint->tinker_path == for_sampler);

  restart();
  api = client();
  CHECK(read<TrainingRun>("training_runs/" + model) == expected);
  CHECK(api.post("get_info", wire::to_json(GetInfoRequest{model})).status == 200);
  CHECK(refusal(api.get("training_runs/gone"), 404) == "there is no training run `gone`");
  CHECK(refusal(api.get("training_runs/..%2f.."), 404).starts_with("there is no call"));
}

TEST_CASE_METHOD(ClockFixture, "Runs are listed in pages, newest activity first",
                 "[server][runs]") {
  const auto first = model;
  wait(1s);
  const auto second = api.model(session, 1);
  wait(1s);
  const auto third = api.model(session, 2);
  wait(1s);
  (void)api.submit("optim_step", step(first, 1));
  const auto ids = [&](const std::string& query) {
    std::vector<std::string> out;
    for (const auto& run : read<TrainingRunsResponse>("training_runs" + query).training_runs)
      out.push_back(run.training_run_id);
    return out;
  };
  CHECK(ids("") == std::vector{first, third, second});
  CHECK(ids("?limit=2") == std::vector{first, third});
  CHECK(ids("?limit=2&offset=2") == std::vector{second});
  CHECK(ids("?offset=3").empty());
  CHECK(read<TrainingRunsResponse>("training_runs?limit=2&offset=1").cursor == Cursor{1, 2, 3});
  CHECK(refusal(api.get("training_runs?limit=1001"), 400)
        == "limit: must be an integer in [1, 1000], but is `1001`");
}

TEST_CASE_METHOD(ClockFixture, "A damaged run is told with the reason and what can be used",
                 "[server][runs]") {
  const auto good = save("good");
  const auto damaged = model;
  begin();
  const auto healthy = model;
  server->stop();
  write_text(options.state_dir / "checkpoints" / damaged / "run.json", "{");
  restart();
  api = client();
  const auto run = read<TrainingRun>("training_runs/" + damaged);
  CHECK(run.corrupted);
  CHECK(run.corrupted_reason.value().starts_with("the record of the run is damaged: run.json"));
  CHECK(run.base_model == "scripted");
  REQUIRE(run.last_checkpoint.has_value());
  CHECK(run.last_checkpoint->tinker_path == good);
  CHECK(refusal(api.post("optim_step", step(damaged, 1)), 404).find("go on from " + good)
        != std::string::npos);
  CHECK_FALSE(read<TrainingRun>("training_runs/" + healthy).corrupted);
  CHECK(read<TrainingRunsResponse>("training_runs").cursor.total_count == 2);

  session = api.session();
  const auto again = api.submit(
      "load_weights",
      wire::to_json(LoadWeightsRequest{.session_id = session, .model_seq_id = 0, .path = good}));
  CHECK(api.result<LoadWeightsResponse>(RequestType::load_weights, again).model_id
        == session + ":train:0");
}

TEST_CASE_METHOD(ClockFixture, "A run whose model broke is corrupted", "[server][runs]") {
  const auto id = api.submit("forward_backward", pass(model, 1, 66));
  (void)api.failure(RequestType::forward_backward, id);
  const auto run = read<TrainingRun>("training_runs/" + model);
  CHECK(run.corrupted);
  CHECK(run.corrupted_reason == "an operation broke the model");
}
