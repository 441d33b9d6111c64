// SPDX-License-Identifier: Apache-2.0
#include "test/server/server_fixture.hpp"

#include <algorithm>

using namespace tinkaf;
using namespace tinkaf::test;

namespace {

struct Fixture : ServerFixture {
  std::string save_body(std::int64_t seq_id, const std::string& name, bool overwrite = false) {
    return wire::to_json(SaveWeightsRequest{
        .model_id = model, .seq_id = seq_id, .path = name, .overwrite = overwrite});
  }

  std::string save(std::int64_t seq_id, const std::string& name, bool overwrite = false) {
    return api
        .result<SaveWeightsResponse>(RequestType::save_weights,
                                     api.submit("save_weights", save_body(seq_id, name, overwrite)))
        .path;
  }

  void learn(std::int64_t seq_id, Token token) {
    (void)api.submit("forward_backward", pass(model, seq_id, token));
    (void)api.submit("optim_step", step(model, seq_id + 1));
  }

  void check_refused(const std::string& call, const std::string& body, int status,
                     const std::string& part) {
    const auto answer = api.post(call, body);
    INFO(answer.body);
    CHECK(answer.status == status);
    CHECK(answer.body.find(part) != std::string::npos);
  }

  ApiClient api = client();
  std::string session = api.session();
  std::string model = api.model(session);
};

} // namespace

TEST_CASE_METHOD(Fixture, "A checkpoint outlives its server", "[server][checkpoints]") {
  learn(1, 5);
  const auto path = save(3, "five");
  CHECK(path == "tinker://" + model + "/weights/five");
  restart();
  api = client();
  session = api.session();

  // Into a model, or making one.
  model = api.model(session);
  const auto into = api.submit(
      "load_weights", wire::to_json(LoadWeightsRequest{
                          .model_id = model, .seq_id = 1, .path = path, .optimizer = true}));
  CHECK(api.result<LoadWeightsResponse>(RequestType::load_weights, into).path == path);
  LoadWeightsRequest create{.session_id = session, .model_seq_id = 1, .path = path};
  const auto made = api.submit("load_weights", wire::to_json(create));
  CHECK(api.submit("load_weights", wire::to_json(create)) == made);
  const auto second = api.result<LoadWeightsResponse>(RequestType::load_weights, made).model_id;
  CHECK(second == session + ":train:1");
  const auto log = trainer->log();
  CHECK(std::count(log.begin(), log.end(), "load with optimizer") == 1);
  CHECK(std::count(log.begin(), log.end(), "load") == 1);

  for (const auto& id : {model, second}) {
    const auto saved = api.result<SaveWeightsForSamplerResponse>(
        RequestType::save_weights_for_sampler,
        api.submit("save_weights_for_sampler",
                   wire::to_json(SaveWeightsForSamplerRequest{.model_id = id, .path = "again"})));
    AsampleRequest request{.sample
                           = {.prompt = ModelInput::from_ints({1}), .sampling_params = {.seed = 7}},
                           .model_path = saved.path};
    const auto drawn = api.submit("asample", wire::to_json(request).value());
    CHECK(api.result<SampleResponse>(RequestType::sample, drawn).sequences.at(0).tokens
          == std::vector<Token>{5, 7});
  }
}

TEST_CASE_METHOD(Fixture, "The name of a checkpoint is taken when the save is accepted",
                 "[server][checkpoints]") {
  trainer->hold();
  const auto first = api.submit("save_weights", save_body(1, "a"));
  trainer->wait_for_begun(2);
  const auto refused = api.post("save_weights", save_body(2, "a"));
  CHECK(refused.status == 409);
  CHECK(refused.headers.at("x-should-retry") == "false");
  CHECK(refused.body.find("`a`") != std::string::npos);
  CHECK(api.submit("save_weights", save_body(1, "a")) == first); // no conflict with itself
  trainer->release();
  (void)api.result<SaveWeightsResponse>(RequestType::save_weights, first);
  CHECK(api.post("save_weights", save_body(3, "a")).status == 409);
  const auto path = save(4, "a", true);
  CHECK(save(5, "a", true) == path);
  // Of the other kind it is free.
  (void)api.result<SaveWeightsForSamplerResponse>(
      RequestType::save_weights_for_sampler,
      api.submit("save_weights_for_sampler", wire::to_json(SaveWeightsForSamplerRequest{
                                                 .model_id = model, .seq_id = 6, .path = "a"})));
}

TEST_CASE_METHOD(Fixture, "A save without a name gets one", "[server][checkpoints]") {
  const auto id = api.submit("save_weights",
                             wire::to_json(SaveWeightsRequest{.model_id = model, .seq_id = 1}));
  CHECK(api.result<SaveWeightsResponse>(RequestType::save_weights, id).path
        == "tinker://" + model + "/weights/seq1");
}

TEST_CASE_METHOD(Fixture, "A full disk fails the save and frees the name",
                 "[server][checkpoints]") {
  trainer->fill_disk();
  for (int i = 1; i <= 2; ++i) {
    const auto id = api.submit("save_weights", save_body(i, "a"));
    const auto failure = api.failure(RequestType::save_weights, id);
    CHECK(failure.error.find("No space left on device") != std::string::npos);
  }
  check_refused("weights_info", R"({"tinker_path":"tinker://)" + model + R"(/weights/a"})", 404,
                "does not exist");
}

TEST_CASE_METHOD(Fixture, "A checkpoint tells what it was made of", "[server][checkpoints]") {
  const auto path = save(1, "a");
  const auto answer = api.post("weights_info", R"({"tinker_path":")" + path + R"("})");
  CHECK(answer.status == 200);
  CHECK(answer.body
        == R"({"base_model":"scripted","is_lora":true,"lora_rank":4,"train_unembed":true,)"
           R"("train_mlp":true,"train_attn":true})");
  CHECK(api.post("get_info", wire::to_json(GetInfoRequest{model})).body.find(R"("lora_rank":4)")
        != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "A checkpoint of the wrong kind is told with its sibling",
                 "[server][checkpoints]") {
  const auto path = save(1, "a");
  CreateSamplingSessionRequest request{.session_id = session, .model_path = path};
  check_refused("create_sampling_session", wire::to_json(request), 400, "sampler_weights/");
  (void)api.result<SaveWeightsForSamplerResponse>(
      RequestType::save_weights_for_sampler,
      api.submit("save_weights_for_sampler", wire::to_json(SaveWeightsForSamplerRequest{
                                                 .model_id = model, .seq_id = 2, .path = "a"})));
  check_refused("create_sampling_session", wire::to_json(request), 400,
                "tinker://" + model + "/sampler_weights/a");
}

TEST_CASE_METHOD(Fixture, "Wrong requests to save and load are refused with the reason",
                 "[server][checkpoints]") {
  const auto path = save(1, "a");
  for (const auto* name : {"../a", "", ".."})
    check_refused("save_weights",
                  wire::to_json(SaveWeightsRequest{.model_id = model, .path = name}), 400,
                  "cannot be the name");
  check_refused("save_weights",
                wire::to_json(SaveWeightsRequest{.model_id = model, .path = "b", .ttl_seconds = 0}),
                400, "ttl_seconds");
  check_refused("save_weights_for_sampler",
                wire::to_json(SaveWeightsForSamplerRequest{.model_id = model}), 400,
                "sampling_session_seq_id");
  check_refused("load_weights",
                wire::to_json(LoadWeightsRequest{.model_id = model, .seq_id = 2, .path = path}),
                400, "LoadWeights is not permitted with seq_id 2");
  for (const auto* bad :
       {"tinker://x/weights/missing", "tinker://../weights/..", "tinker://./weights/."})
    check_refused(
        "load_weights",
        wire::to_json(LoadWeightsRequest{.session_id = session, .model_seq_id = 5, .path = bad}),
        404, "does not exist");
  check_refused("load_weights",
                wire::to_json(LoadWeightsRequest{.session_id = session, .path = path}), 400,
                "model_seq_id");
  check_refused("load_weights",
                wire::to_json(LoadWeightsRequest{
                    .session_id = session, .model_seq_id = 5, .base_model = "other", .path = path}),
                400, "belongs to `scripted`");
}

TEST_CASE_METHOD(Fixture, "Weights of another shape do not fit", "[server][checkpoints]") {
  const auto path = save(1, "a");
  CreateModelRequest create{.session_id = session, .model_seq_id = 1, .base_model = "scripted"};
  create.lora_config = LoraConfig{.rank = 8};
  const auto other
      = api.result<CreateModelResponse>(RequestType::create_model,
                                        api.submit("create_model", wire::to_json(create)))
            .model_id;
  const auto id
      = api.submit("load_weights",
                   wire::to_json(LoadWeightsRequest{.model_id = other, .seq_id = 1, .path = path}));
  const auto failure = api.failure(RequestType::load_weights, id);
  CHECK(failure.category == ErrorCategory::user);
  CHECK(failure.error.find("rank 4 and 8") != std::string::npos);
}
