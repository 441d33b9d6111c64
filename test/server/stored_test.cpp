// SPDX-License-Identifier: Apache-2.0
#include "test/server/clock_fixture.hpp"

using namespace std::chrono_literals;
using namespace tinkaf;
using namespace tinkaf::test;

namespace {

struct Fixture : ClockFixture {
  std::vector<std::string> listed(const std::string& call) {
    std::vector<std::string> out;
    for (const auto& x : read<CheckpointsListResponse>(call).checkpoints)
      out.push_back(x.tinker_path);
    return out;
  }

  [[nodiscard]] std::filesystem::path folder_of(const std::string& checkpoint) const {
    return options.state_dir / "checkpoints" / model / checkpoint;
  }

  std::vector<Token> draw(const std::string& sampler, std::int64_t seq_id) {
    const auto id = api.submit("asample", sample(sampler, seq_id, 7));
    return api.result<SampleResponse>(RequestType::sample, id).sequences.at(0).tokens;
  }

  std::string sampler(std::int64_t number, const std::string& path) {
    CreateSamplingSessionRequest request{
        .session_id = session, .sampling_session_seq_id = number, .model_path = path};
    return wire::from_json<CreateSamplingSessionResponse>(
               check(api.post("create_sampling_session", wire::to_json(request)), 200))
        .value()
        .sampling_session_id;
  }

  HttpAnswer load(std::int64_t number, const std::string& path) {
    return api.post("load_weights",
                    wire::to_json(LoadWeightsRequest{
                        .session_id = session, .model_seq_id = number, .path = path}));
  }
};

} // namespace

TEST_CASE_METHOD(Fixture, "Checkpoints are listed of a run, and of all in pages",
                 "[server][checkpoints]") {
  const auto first = save("a");
  wait(1s);
  const auto second = save_sampler("a");
  wait(1s);
  const auto run = model;
  model = api.model(session, 1);
  const auto third = save("b");
  CHECK(listed("checkpoints") == std::vector{third, second, first});
  CHECK(listed("checkpoints?limit=1&offset=1") == std::vector{second});
  CHECK(read<CheckpointsListResponse>("checkpoints?offset=1").cursor == Cursor{1, 100, 3});
  CHECK(listed("training_runs/" + run + "/checkpoints") == std::vector{second, first});
  CHECK_FALSE(
      read<CheckpointsListResponse>("training_runs/" + run + "/checkpoints").cursor.has_value());
  CHECK(refusal(api.get("training_runs/gone/checkpoints"), 404)
        == "there is no training run `gone`");
  CHECK(refusal(api.get("checkpoints?limit=x"), 400)
        == "limit: must be an integer in [1, 1000], but is `x`");
  restart();
  api = client();
  CHECK(listed("checkpoints") == std::vector{third, second, first});
}

TEST_CASE_METHOD(Fixture, "A checkpoint is removed alone, and its name is free again",
                 "[server][checkpoints]") {
  learn(5);
  const auto path = save("a");
  const auto sibling = save_sampler("a");
  const auto gone = api.remove(at("weights/a"));
  CHECK(gone.status == 204);
  CHECK(gone.body.empty());
  CHECK_FALSE(std::filesystem::exists(folder_of("weights/a")));
  CHECK(listed("checkpoints") == std::vector{sibling});
  const auto missing = "path: the checkpoint " + path + " does not exist";
  CHECK(refusal(api.remove(at("weights/a")), 404) == missing);
  CHECK(refusal(api.put(at("weights/a/ttl"), R"({"ttl_seconds":1})"), 404) == missing);
  CHECK(refusal(api.post(at("weights/a/publish"), ""), 404) == missing);
  CHECK(refusal(api.remove(at("weights/a/publish")), 404) == missing);
  CHECK(refusal(load(1, path), 404) == missing);
  CHECK(save("a") == path);
  // An escaped slash is a slash.
  CHECK(api.remove(at("weights%2Fa")).status == 204);
}

TEST_CASE_METHOD(Fixture, "A bad id of a checkpoint is refused", "[server][checkpoints][errors]") {
  const std::string expected = "Invalid checkpoint identifier. Expected format 'weights/<name>' or "
                               "'sampler_weights/<name>', but it is '";
  CHECK(refusal(api.remove(at("a")), 400) == expected + "a'");
  CHECK(refusal(api.remove(at("heights/a")), 400) == expected + "heights/a'");
  CHECK(refusal(api.post(at("a/publish"), ""), 400) == expected + "a'");
  CHECK(refusal(api.put(at("a/ttl"), R"({"ttl_seconds":1})"), 400) == expected + "a'");
  CHECK(refusal(api.get(at("a/archive")), 400) == expected + "a'");
  CHECK(api.remove(at("weights/..")).status == 404);
  CHECK(api.remove("training_runs/../checkpoints/weights/a").status == 404);
  CHECK(api.get(at("weights/a")).status == 405);
}

TEST_CASE_METHOD(Fixture, "A sampler keeps the weights of a checkpoint that was removed",
                 "[server][checkpoints]") {
  options.limits.max_loaded_samplers = 1; // so that weights are read again
  begin();
  learn(5);
  const auto path = save_sampler("a");
  const auto old = sampler(0, path);
  CHECK(api.remove(at("sampler_weights/a")).status == 204);
  learn(6);
  CHECK(save_sampler("a") == path);
  const auto fresh = sampler(1, path);
  CHECK(draw(fresh, 0) == std::vector<Token>{5, 6, 7});
  CHECK(draw(old, 0) == std::vector<Token>{5, 7});
  CHECK(draw(fresh, 1) == std::vector<Token>{5, 6, 7});
}

TEST_CASE_METHOD(Fixture, "A load gets the weights that were there when it was accepted",
                 "[server][checkpoints]") {
  learn(5);
  const auto path = save("a");
  const auto begun = trainer->log().size();
  trainer->hold();
  (void)api.submit("optim_step", step(model, {}));
  trainer->wait_for_begun(begun + 1);
  const auto id = wire::from_json<FutureRef>(check(load(1, path), 200)).value().request_id;
  CHECK(api.remove(at("weights/a")).status == 204);
  trainer->release();
  model = api.result<LoadWeightsResponse>(RequestType::load_weights, id).model_id;
  CHECK(draw(sampler(0, save_sampler("b")), 0) == std::vector<Token>{5, 7});
}

TEST_CASE_METHOD(Fixture, "A checkpoint is published and withdrawn once", "[server][checkpoints]") {
  const auto path = save("a");
  const auto is_public
      = [&] { return read<CheckpointsListResponse>("checkpoints").checkpoints.at(0).is_public; };
  CHECK_FALSE(is_public());
  const auto withdrawn = api.remove(at("weights/a/publish"));
  CHECK(refusal(withdrawn, 409) == "the checkpoint " + path + " is private already");
  CHECK(withdrawn.headers.at("x-should-retry") == "false");
  CHECK(check(api.post(at("weights/a/publish"), ""), 200) == "{}");
  CHECK(is_public());
  CHECK(refusal(api.post(at("weights/a/publish"), ""), 409)
        == "the checkpoint " + path + " is public already");
  restart();
  api = client();
  CHECK(is_public());
  CHECK(check(api.remove(at("weights/a/publish")), 200) == "{}");
  CHECK_FALSE(is_public());
}

TEST_CASE_METHOD(Fixture, "A checkpoint that expires is gone from lists, loads and the disk",
                 "[server][checkpoints]") {
  learn(5);
  const auto training = save("a", 60);
  const auto for_sampler = save_sampler("a", 61);
  const auto kept = sampler(0, for_sampler);
  wait(59s);
  CHECK(listed("checkpoints").size() == 2);
  wait(1s);
  CHECK(refusal(load(1, training), 404) == "path: the checkpoint " + training + " has expired");
  CHECK(listed("checkpoints") == std::vector{for_sampler});
  CHECK_FALSE(std::filesystem::exists(folder_of("weights/a/learned")));
  wait(1s);
  CHECK(listed("training_runs/" + model + "/checkpoints").empty());
  CHECK_FALSE(std::filesystem::exists(folder_of("sampler_weights/a/learned")));
  const auto expired = "path: the checkpoint " + for_sampler + " has expired";
  CreateSamplingSessionRequest request{
      .session_id = session, .sampling_session_seq_id = 1, .model_path = for_sampler};
  CHECK(refusal(api.post("create_sampling_session", wire::to_json(request)), 404) == expired);
  CHECK(refusal(api.post("weights_info", R"({"tinker_path":")" + for_sampler + R"("})"), 404)
        == expired);
  CHECK(refusal(api.remove(at("sampler_weights/a")), 404) == expired);
  CHECK(draw(kept, 0) == std::vector<Token>{5, 7});

  restart(); // it is still known why
  api = client();
  session = api.session();
  CHECK(refusal(load(0, training), 404) == "path: the checkpoint " + training + " has expired");
  model = api.model(session, 1);
  CHECK(listed("checkpoints").empty());
}

TEST_CASE_METHOD(Fixture, "The name of an expired checkpoint is free", "[server][checkpoints]") {
  const auto path = save("a", 1);
  wait(1s);
  CHECK(save("a") == path);
  wait(1000h);
  CHECK(listed("checkpoints") == std::vector{path});
}

TEST_CASE_METHOD(Fixture, "The expiry of a checkpoint is set, moved and removed",
                 "[server][checkpoints]") {
  const auto path = save("a");
  const auto set = [&](const std::string& body) { return api.put(at("weights/a/ttl"), body); };
  const auto expiry
      = [&] { return read<CheckpointsListResponse>("checkpoints").checkpoints.at(0).expires_at; };
  CHECK_FALSE(expiry().has_value());
  wait(100s);
  CHECK(check(set(R"({"ttl_seconds":60})"), 200) == "{}");
  CHECK(expiry() == Timestamp{1'900'000'160s});
  wait(59s);
  CHECK(check(set(R"({"ttl_seconds":60})"), 200) == "{}");
  wait(59s);
  CHECK(check(set(R"({"ttl_seconds":null})"), 200) == "{}");
  wait(1000h);
  CHECK_FALSE(expiry().has_value());

  const std::string bounds = "ttl_seconds: must be in [1, 3153600000], but is ";
  CHECK(refusal(set(R"({"ttl_seconds":0})"), 400) == bounds + "0");
  CHECK(refusal(set(R"({"ttl_seconds":-5})"), 400) == bounds + "-5");
  CHECK(refusal(set(R"({"ttl_seconds":9223372036854775807})"), 400)
        == bounds + "9223372036854775807");
  CHECK(refusal(set("{}"), 400) == "ttl request: `ttl_seconds` is missing");
  CHECK(refusal(set(R"({"ttl_seconds":"1"})"), 400)
        == "ttl request: `ttl_seconds` must be an integer, got a string");
  CHECK(refusal(set("{"), 400).starts_with("ttl request: "));
  CHECK_FALSE(expiry().has_value());
}

TEST_CASE_METHOD(Fixture, "A damaged checkpoint is no trouble for others and can be removed",
                 "[server][checkpoints]") {
  (void)save("a");
  const auto good = save("b");
  write_text(folder_of("weights/a/checkpoint.json"), "{");
  CHECK(listed("checkpoints") == std::vector{good});
  const auto run = read<TrainingRun>("training_runs/" + model);
  CHECK(run.corrupted);
  CHECK(run.corrupted_reason.value().find("checkpoint.json") != std::string::npos);
  CHECK(run.last_checkpoint.value().tinker_path == good);
  CHECK(api.remove(at("weights/a")).status == 204);
  CHECK_FALSE(read<TrainingRun>("training_runs/" + model).corrupted);
}
