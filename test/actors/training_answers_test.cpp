// SPDX-License-Identifier: Apache-2.0
#include "actors/training_client.hpp"
#include "test/actors/training_fixture.hpp"

// A training client whose service answers at once where others give the name of a result.

using namespace tinkaf;

namespace {

using Numbers = std::vector<std::int64_t>;

struct Fixture : test::TrainingFixture {
  /// Answers the oldest open request to `endpoint` with a result.
  void answer(Endpoint endpoint, const std::string& body) {
    REQUIRE(transport->answer(path(endpoint), test::json(200, body)));
    run();
  }
};

} // namespace

TEST_CASE_METHOD(Fixture, "HS2, HL1, HW2: a result that comes at once is the answer, of one type",
                 "[actors][training]") {
  auto client = open();
  auto saved = ask<SaveWeightsResponse>(client, atom::save_state_v, std::string{"a"},
                                        SaveWeightsOptions{});
  auto loaded = ask<LoadWeightsResponse>(client, atom::load_state_v,
                                         std::string{"tinker://run/weights/a"}, true);
  auto named = ask<SaveWeightsForSamplerResponse>(client, atom::save_for_sampler_v,
                                                  std::string{"b"}, SaveWeightsOptions{});
  auto unnamed = ask<SaveWeightsForSamplerResponse>(client, atom::save_for_sampler_v);
  run();
  answer(Endpoint::save_weights, R"({"path":"tinker://run/weights/a"})");
  answer(Endpoint::load_weights, R"({"path":"tinker://run/weights/a"})");
  answer(Endpoint::save_weights_for_sampler, R"({"path":"tinker://run/sampler_weights/b"})");
  answer(Endpoint::save_weights_for_sampler, R"({"sampling_session_id":"s"})");
  CHECK((*saved)->value().path == "tinker://run/weights/a");
  CHECK((*loaded)->value().path == "tinker://run/weights/a");
  CHECK((*named)->value()
        == SaveWeightsForSamplerResponse{.path = "tinker://run/sampler_weights/b"});
  CHECK((*unnamed)->value() == SaveWeightsForSamplerResponse{.sampling_session_id = "s"});
  optim_step(client);
  CHECK(numbers<OptimStepRequest>(Endpoint::optim_step) == Numbers{5});
}

TEST_CASE_METHOD(Fixture, "F9: a pass that is answered at once has used its number up",
                 "[actors][training]") {
  auto client = open();
  auto step = optim_step(client);
  answer(Endpoint::optim_step, R"({"metrics":{}})");
  REQUIRE(step->has_value());
  CHECK((*step)->error().code == Errc::protocol_error);
  optim_step(client);
  CHECK(numbers<OptimStepRequest>(Endpoint::optim_step) == Numbers{1, 2});
}

TEST_CASE_METHOD(Fixture, "SC2, SC9: unnamed weights are sampled from without another call",
                 "[actors][training]") {
  auto client = open();
  auto sampler = ask<SamplingClientActor>(client, atom::get_sampler_v);
  run();
  answer(Endpoint::save_weights_for_sampler, R"({"sampling_session_id":"s"})");
  REQUIRE(sampler->has_value());
  CHECK((*sampler)->has_value());
  CHECK(sent_to(Endpoint::create_sampling_session).empty());
}

TEST_CASE_METHOD(Fixture, "SC1: named weights are opened by their path", "[actors][training]") {
  auto client = open();
  auto sampler = ask<SamplingClientActor>(client, atom::get_sampler_v);
  run();
  answer(Endpoint::save_weights_for_sampler, R"({"path":"tinker://run/sampler_weights/a"})");
  REQUIRE(sampler->has_value());
  CHECK((*sampler)->has_value());
  auto opened = sent_to(Endpoint::create_sampling_session);
  REQUIRE(opened.size() == 1);
  CHECK(wire::from_json<CreateSamplingSessionRequest>(*opened[0].body).value().model_path
        == "tinker://run/sampler_weights/a");
}

TEST_CASE_METHOD(Fixture, "N2: training clients and sampling clients share one counter",
                 "[actors][training]") {
  auto client = open();
  auto other = make_training_client();
  for (const auto& who : {client, other, client})
    ask<SaveWeightsForSamplerResponse>(who, atom::save_for_sampler_v);
  run();
  for (int i = 0; i < 3; ++i)
    answer(Endpoint::save_weights_for_sampler, R"({"sampling_session_id":"s"})");
  std::vector<std::int64_t> drawn;
  for (const auto& request : sent_to(Endpoint::save_weights_for_sampler))
    drawn.push_back(wire::from_json<SaveWeightsForSamplerRequest>(*request.body)
                        .value()
                        .sampling_session_seq_id.value());
  std::sort(drawn.begin(), drawn.end());
  CHECK(drawn == Numbers{0, 1, 2});
}

TEST_CASE_METHOD(Fixture, "What no checkpoint can be called or hold is refused at once",
                 "[actors][training]") {
  auto client = open();
  auto busy = optim_step(client); // not answered, so that nothing else could leave
  auto empty
      = ask<SaveWeightsResponse>(client, atom::save_state_v, std::string{}, SaveWeightsOptions{});
  auto slash = ask<SaveWeightsForSamplerResponse>(client, atom::save_for_sampler_v,
                                                  std::string{"a/b"}, SaveWeightsOptions{});
  auto dead = ask<SaveWeightsResponse>(client, atom::save_state_v, std::string{"a"},
                                       SaveWeightsOptions{.ttl = std::chrono::seconds{0}});
  auto kind = ask<LoadWeightsResponse>(client, atom::load_state_v,
                                       std::string{"tinker://run/sampler_weights/a"}, false);
  run();
  REQUIRE(empty->has_value());
  CHECK((*empty)->error().message.find("name is empty") != std::string::npos);
  REQUIRE(slash->has_value());
  CHECK((*slash)->error().message.find("`a/b`") != std::string::npos);
  REQUIRE(dead->has_value());
  CHECK((*dead)->error().message.find("ttl is 0") != std::string::npos);
  REQUIRE(kind->has_value());
  CHECK((*kind)->error().message.find("load_state needs one to train on") != std::string::npos);
  accept(Endpoint::optim_step, "one");
  optim_step(client);
  CHECK(numbers<OptimStepRequest>(Endpoint::optim_step) == Numbers{1, 2});
}

TEST_CASE_METHOD(Fixture, "E5: what the service says against a model is the answer",
                 "[actors][training]") {
  open_session();
  auto made = ask<TrainingClientActor>(session_actor, CreateLoraTrainingClient{"", {}, {}});
  run();
  REQUIRE(made->has_value());
  CHECK((*made)->error().message.find("base_model is empty") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "A checkpoint of another account is loaded on another base by its token",
                 "[actors][training][secrets]") {
  open_session();
  auto made = ask<TrainingClientActor>(
      session_actor, CreateTrainingClientFromState{.path = "tinker://run/weights/one",
                                                   .base_model = "their-base",
                                                   .weights_access_token = "tml-their-token"});
  run();
  auto asked = transport->sent.back().request;
  CHECK(asked.path == "/api/v1/weights_info");
  CHECK(test::header(asked.secret_headers, "X-API-Key") == "tml-their-token");
  CHECK(asked.body->find("tml-their-token") == std::string::npos);
  REQUIRE(
      transport->answer("/api/v1/weights_info",
                        test::json(200, R"({"base_model":"tiny","is_lora":true,"lora_rank":8})")));
  run();
  opened_with = 0;
  auto model = sent_to(Endpoint::create_model);
  REQUIRE(model.size() == 1);
  CHECK(wire::from_json<CreateModelRequest>(*model[0].body).value().base_model == "their-base");
  auto load = sent_to(Endpoint::load_weights);
  REQUIRE(load.size() == 1);
  CHECK(wire::from_json<LoadWeightsRequest>(*load[0].body).value().weights_access_token
        == "tml-their-token");
  refuse(Endpoint::load_weights, test::json(403, R"({"detail":"not yours"})"));
  REQUIRE(made->has_value());
  CHECK(to_string((*made)->error()).find("tml-their-token") == std::string::npos);
}
