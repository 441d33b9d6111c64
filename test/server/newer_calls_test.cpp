// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json_reader.hpp"
#include "server/model/random_model.hpp"
#include "test/server/clock_fixture.hpp"

using namespace std::chrono_literals;
using namespace tinkaf;
using namespace tinkaf::test;

// What clients from 0.38 on call.

namespace {

rapidjson::Document json(const std::string& text) {
  rapidjson::Document out;
  out.Parse(text.data(), text.size());
  REQUIRE_FALSE(out.HasParseError());
  return out;
}

struct Fixture : ClockFixture {
  std::string save_external(const std::string& name, std::optional<std::int64_t> ttl = {}) {
    const auto id = api.submit("save_weights_external",
                               wire::to_json(SaveWeightsExternalRequest{
                                   .model_id = model, .path = name, .ttl_seconds = ttl}));
    return api.result<SaveWeightsExternalResponse>(RequestType::save_weights_external, id).path;
  }

  /// The files of a checkpoint to take elsewhere, fetched without a key.
  std::map<std::string, std::string> files(const std::string& name) {
    const auto told
        = json(check(api.get(at("external_weights/" + name + "/external_weights_urls")), 200));
    std::map<std::string, std::string> out;
    const std::string here = "http://localhost";
    for (const auto& [file, url] : told["urls"].GetObject()) {
      const std::string text = url.GetString();
      REQUIRE(text.starts_with(here));
      const auto answer = api.http.call("GET", text.substr(here.size()));
      CHECK(answer.status == 200);
      CHECK(answer.headers.at("content-type") == "application/octet-stream");
      out[file.GetString()] = answer.body;
    }
    return out;
  }

  std::string named_session(const std::string& name, const std::string& project = "p") {
    const auto answer
        = api.post("create_session",
                   wire::to_json(CreateSessionRequest{.user_metadata = {{"team", name}},
                                                      .project_id = project,
                                                      .display_name = name + " of tonight"}));
    return wire::from_json<CreateSessionResponse>(check(answer, 200)).value().session_id;
  }

  std::vector<std::string> search(const std::string& request) {
    const auto told = json(check(api.post("sessions/search", request), 200));
    std::vector<std::string> out;
    for (const auto& x : told["sessions"].GetArray())
      out.emplace_back(x["session_id"].GetString());
    return out;
  }
};

using Ids = std::vector<std::string>;

} // namespace

TEST_CASE_METHOD(Fixture, "A checkpoint to take elsewhere is fetched file by file",
                 "[server][archive]") {
  options.limits.archive_link = 100s;
  begin();
  learn(5);
  const auto path = save_external("a");
  CHECK(path == "tinker://" + model + "/external_weights/a");
  learn(6);
  CHECK(files("a") == std::map<std::string, std::string>{{"learned", "4 5"}});
  const auto listed = read<CheckpointsListResponse>("training_runs/" + model + "/checkpoints");
  REQUIRE(listed.checkpoints.size() == 1);
  CHECK(listed.checkpoints.front().checkpoint_type == CheckpointKind::external);
  const auto told = json(api.get(at("external_weights/a/external_weights_urls")).body);
  CHECK(std::string{told["expires"].GetString()} == "2030-03-17T17:48:20Z");

  check(api.put(at("external_weights/a/ttl"), R"({"ttl_seconds":60})"), 200);
  wait(60s);
  CHECK(refusal(api.get(at("external_weights/a/external_weights_urls")), 404)
        == "path: the checkpoint " + path + " has expired");
  (void)save_external("b", 3600);
  CHECK(api.remove(at("external_weights/b")).status == 204);
  CHECK(api.get(at("external_weights/b/external_weights_urls")).status == 404);
}

TEST_CASE_METHOD(Fixture, "A save to take elsewhere that was accepted outlives a restart",
                 "[server][restart]") {
  learn(5);
  const auto id = api.submit(
      "save_weights_external",
      wire::to_json(SaveWeightsExternalRequest{.model_id = model, .seq_id = {}, .path = "a"}));
  restart();
  api = client();
  CHECK(api.result<SaveWeightsExternalResponse>(RequestType::save_weights_external, id).path
        == "tinker://" + model + "/external_weights/a");
  CHECK(files("a").at("learned") == "4 5");
}

TEST_CASE_METHOD(Fixture, "A checkpoint to take elsewhere is for nothing else",
                 "[server][archive][errors]") {
  const auto path = save_external("a");
  (void)save("a");
  CHECK(refusal(api.get(at("weights/a/external_weights_urls")), 400)
        == "tinker://" + model
               + "/weights/a is no checkpoint to take elsewhere; save one with "
                 "save_weights_external, or ask for its archive");
  CHECK(
      refusal(api.post("save_weights_external", R"({"model_id":")" + model
                                                    + R"(","path":"b",)"
                                                      R"("age_encryption_recipients":["age1x"]})"),
              400)
          .starts_with("age_encryption_recipients: this server does not encrypt"));
  CHECK(refusal(api.post("save_weights_external", R"({"model_id":")" + model + R"("})"), 400)
        == "save_weights_external request: `path` is missing");
  CHECK(refusal(api.post("create_sampling_session", R"({"session_id":")" + session
                                                        + R"(","sampling_session_seq_id":0,)"
                                                          R"("model_path":")"
                                                        + path + R"("})"),
                400)
            .find("is a checkpoint to take elsewhere, but one to sample from is needed")
        != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "A checkpoint is copied into a project, once by its key",
                 "[server][checkpoint]") {
  learn(5);
  const auto source = save("a");
  const std::string body
      = R"({"source_path":")" + source + R"(","destination_project_id":"p","ttl_seconds":3600})";
  const auto copy = [&](const std::string& text, const std::string& key) {
    return api.http.call("POST", "/api/v1/copy_weights", text,
                         {{"Content-Type", "application/json"}, {"X-Idempotency-Key", key}});
  };
  const auto first = copy(body, "one");
  const auto path = TinkerPath::parse(json(check(first, 200))["tinker_path"].GetString()).value();
  CHECK(path.kind == CheckpointKind::training);
  CHECK(path.training_run_id != model);
  CHECK(copy(body, "one").body == first.body);
  CHECK(copy(body, "two").body != first.body);
  CHECK(refusal(copy(R"({"source_path":")" + source + R"(","destination_project_id":"q"})", "one"),
                409)
        == "X-Idempotency-Key: was used for another copy");
  CHECK(api.remove(at("weights/a")).status == 204); // the copy stays
  LoadWeightsRequest request{.path = path.str(), .optimizer = true};
  request.session_id = session;
  request.model_seq_id = 5;
  const auto id = api.submit("load_weights", wire::to_json(request));
  model = api.result<LoadWeightsResponse>(RequestType::load_weights, id).model_id;
  (void)save_external("b");
  CHECK(files("b").at("learned") == "4 5");
  CHECK(read<TrainingRunsResponse>("training_runs?project_id=p").training_runs.size() == 2);
  wait(3600s);
  CHECK(api.post("weights_info", R"({"tinker_path":")" + path.str() + R"("})").status == 404);

  CHECK(refusal(copy(R"({"source_path":")" + source + R"("})", ""), 400)
        == "destination_project_id: is missing");
  CHECK(refusal(copy(R"({"source_path":"a","destination_project_id":"q"})", ""), 400)
            .starts_with("source_path: "));
  CHECK(copy(R"({"source_path":"tinker://a/weights/b","destination_project_id":"q"})", "").status
        == 404);
}

TEST_CASE_METHOD(Fixture, "Sessions are searched by name, project, notes and status",
                 "[server][session]") {
  wait(1s);
  const auto red = named_session("Red");
  wait(1s);
  const auto blue = named_session("Blue", "q");
  (void)save("a");
  CHECK(search("{}") == Ids{blue, red, session});
  CHECK(search(R"({"display_name":"TONIGHT red"})") == Ids{red});
  CHECK(search(R"({"display_name":"green"})").empty());
  CHECK(search(R"({"display_name":"green","session_id":")" + blue + R"("})") == Ids{blue});
  CHECK(search(R"({"project_ids":["q","r"]})") == Ids{blue});
  CHECK(search(R"({"user_metadata":{"team":"Red"}})") == Ids{red});
  CHECK(search(R"({"owner":{"type":"user","owner_urns":["urn:x"]}})").empty());
  check(api.post("sessions/" + red + "/finish", R"({"reason":{"type":"errored"}})"), 200);
  CHECK(search(R"({"statuses":[{"type":"active"}]})") == Ids{blue, session});
  CHECK(search(R"({"statuses":[{"type":"client_finished"}]})") == Ids{red});
  CHECK(search(R"({"statuses":[{"type":"client_finished","reasons":["success"]}]})").empty());
  const auto told = json(check(api.post("sessions/search", R"({"limit":2})"), 200));
  REQUIRE(told["sessions"].Size() == 2);
  const auto& second = told["sessions"][1];
  CHECK(wire::dump(second["status"])
        == R"({"type":"client_finished","reason":{"type":"errored"}})");
  CHECK(std::string{second["display_name"].GetString()} == "Red of tonight");
  CHECK(std::string{second["created_at"].GetString()} == "2030-03-17T17:46:41Z");
  CHECK(search(R"({"cursor":)" + wire::dump(told["next_cursor"]) + "}") == Ids{session});
  const auto last
      = json(check(api.post("sessions/search", R"({"session_id":")" + session + "\"}"), 200));
  CHECK(last["sessions"][0]["checkpoints_count"].GetInt() == 1);
  CHECK(last["sessions"][0]["checkpoint_storage_bytes"].GetInt() > 0);
  CHECK_FALSE(last.HasMember("next_cursor"));
  restart(); // what is open is known by its name again
  api = client();
  CHECK(search(R"({"display_name":"blue"})") == Ids{blue});
  CHECK(refusal(api.post("sessions/search", R"({"limit":0})"), 400)
        == "limit: must be in [1, 200], but is 0");
  CHECK(refusal(api.post("sessions/search", R"({"owner":{"type":"all"}})"), 400)
        == "owner.type: must be own, accessible or user, but is `all`");
  CHECK(refusal(api.post("sessions/search", R"({"statuses":[{"type":"gone"}]})"), 400)
        == "statuses: there is no status `gone`; there are: active, client_finished, failed, "
           "cancelled");
}

TEST_CASE_METHOD(Fixture, "Notes with a checkpoint are listed with it, also after a restart",
                 "[server][checkpoints]") {
  const auto save_with = [&](const std::string& call, const std::string& more) {
    return api.post(call, R"({"model_id":")" + model + R"(","path":"noted",)" + more + "}");
  };
  const auto accepted
      = check(save_with("save_weights", R"("seq_id":1,"user_metadata":{"a":"b"})"), 200);
  const auto id = wire::from_json<FutureRef>(accepted).value().request_id;
  (void)api.result<SaveWeightsResponse>(RequestType::save_weights, id);
  CHECK(check(save_with("save_weights", R"("seq_id":1,"user_metadata":{"a":"b"})"), 200)
        == accepted);
  CHECK(refusal(save_with("save_weights", R"("seq_id":1,"user_metadata":{"a":"c"})"), 409)
        == "seq_id: 1 was used for another request");
  (void)api.result<SaveWeightsForSamplerResponse>(
      RequestType::save_weights_for_sampler,
      wire::from_json<FutureRef>(
          check(save_with("save_weights_for_sampler", R"("seq_id":2,"user_metadata":{"for":"us"})"),
                200))
          .value()
          .request_id);
  (void)save("plain");
  const auto notes = [&] {
    std::map<std::string, UserMetadata> out;
    for (auto& x : read<CheckpointsListResponse>("checkpoints").checkpoints)
      out[x.checkpoint_id] = std::move(x.user_metadata);
    return out;
  };
  const std::map<std::string, UserMetadata> expected{{"weights/noted", {{"a", "b"}}},
                                                     {"sampler_weights/noted", {{"for", "us"}}},
                                                     {"weights/plain", {}}};
  CHECK(notes() == expected);
  restart();
  api = client();
  CHECK(notes() == expected);
  CHECK(read<TrainingRun>("training_runs/" + model).last_sampler_checkpoint->user_metadata
        == UserMetadata{{"for", "us"}});

  // Another save under the name takes them away.
  (void)save("noted", {}, true);
  CHECK(notes().at("weights/noted").empty());
  CHECK(refusal(save_with("save_weights", R"("user_metadata":7)"), 400)
        == "save_weights request: `user_metadata` must be an object, got 7");
  CHECK(refusal(api.post("save_weights_for_sampler",
                         R"({"model_id":")" + model
                             + R"(","sampling_session_seq_id":0,"user_metadata":{"a":"b"}})"),
                400)
        == "user_metadata: a save without `path` is in no list; leave it out");
}

TEST_CASE_METHOD(Fixture, "Another optimizer than ours is refused by its name",
                 "[server][training][errors]") {
  const auto create = [&](const std::string& optimizer) {
    return api.post("create_model", R"({"session_id":")" + session
                                        + R"(","model_seq_id":3,"base_model":"scripted",)"
                                          R"("lora_config":{"rank":4},"optimizer_config":)"
                                        + optimizer + "}");
  };
  CHECK(refusal(create(R"({"type":"dimuon","version":1})"), 400)
        == "optimizer_config.type: this server has the optimizer adamw only, but `dimuon` is asked "
           "for");
  CHECK(create(R"({"type":"adamw"})").status == 200);
  CHECK(refusal(api.post("optim_step", R"({"model_id":")" + model
                                           + R"(","seq_id":1,"optimizer_params":)"
                                             R"({"type":"dimuon","learning_rate":0.1}})"),
                400)
        == "optimizer_params.type: this server has the optimizer adamw only, but `dimuon` is asked "
           "for");
  (void)api.result<OptimStepResponse>(RequestType::optim_step, // the number is used up
                                      api.submit("optim_step", step(model, 2)));
}
