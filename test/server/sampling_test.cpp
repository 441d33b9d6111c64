// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json_reader.hpp"
#include "test/server/server_fixture.hpp"

#include <set>

using namespace tinkaf;
using namespace tinkaf::test;

namespace {

struct Fixture : ServerFixture {
  /// Trains the model on one token.
  void learn(const std::string& model, std::int64_t seq_id, Token token) {
    (void)api.submit("forward_backward", pass(model, seq_id, token));
    (void)api.result<OptimStepResponse>(RequestType::optim_step,
                                        api.submit("optim_step", step(model, seq_id + 1)));
  }

  SaveWeightsForSamplerResponse save(const SaveWeightsForSamplerRequest& request) {
    return api.result<SaveWeightsForSamplerResponse>(
        RequestType::save_weights_for_sampler,
        api.submit("save_weights_for_sampler", wire::to_json(request)));
  }

  std::vector<Token> draw(const std::string& sampler, std::int64_t seq_id,
                          std::optional<std::int64_t> seed = 7) {
    const auto id = api.submit("asample", sample(sampler, seq_id, seed));
    return api.result<SampleResponse>(RequestType::sample, id).sequences.at(0).tokens;
  }

  std::string sampler(const CreateSamplingSessionRequest& request) {
    const auto answer = api.post("create_sampling_session", wire::to_json(request));
    INFO(answer.body);
    REQUIRE(answer.status == 200);
    return wire::from_json<CreateSamplingSessionResponse>(answer.body).value().sampling_session_id;
  }

  ApiClient api = client();
  std::string session = api.session();
};

using Tokens = std::vector<Token>;

} // namespace

TEST_CASE_METHOD(Fixture, "Samples come from the base, a checkpoint, or a passing snapshot",
                 "[server][sampling]") {
  const auto model = api.model(session);
  learn(model, 1, 5);
  const auto named = save({.model_id = model, .seq_id = 3, .path = "five"});
  CHECK(named.path == "tinker://" + model + "/sampler_weights/five");
  CHECK_FALSE(named.sampling_session_id.has_value());
  const auto passing = save({.model_id = model, .seq_id = 4, .sampling_session_seq_id = 0});
  CHECK_FALSE(passing.path.has_value());
  CHECK(passing.sampling_session_id == session + ":sample:0");
  learn(model, 5, 6); // later training changes neither

  CHECK(draw(*passing.sampling_session_id, 0) == Tokens{5, 7});
  const auto checkpoint
      = sampler({.session_id = session, .sampling_session_seq_id = 1, .model_path = named.path});
  CHECK(draw(checkpoint, 0) == Tokens{5, 7});
  const auto base
      = sampler({.session_id = session, .sampling_session_seq_id = 2, .base_model = "scripted"});
  CHECK(draw(base, 0) == Tokens{7});

  AsampleRequest direct{.sample
                        = {.prompt = ModelInput::from_ints({1}), .sampling_params = {.seed = 8}},
                        .model_path = named.path};
  const auto id = api.submit("asample", wire::to_json(direct).value());
  CHECK(api.result<SampleResponse>(RequestType::sample, id).sequences.at(0).tokens == Tokens{5, 8});
}

TEST_CASE_METHOD(Fixture, "Snapshots that found no room in memory are read again",
                 "[server][sampling]") {
  options.limits.max_loaded_samplers = 1;
  restart();
  api = client();
  session = api.session();
  const auto model = api.model(session);
  learn(model, 1, 5);
  const auto one = save({.model_id = model, .seq_id = 3, .sampling_session_seq_id = 0});
  learn(model, 4, 6);
  const auto two = save({.model_id = model, .seq_id = 6, .sampling_session_seq_id = 1});
  for (int i = 0; i < 2; ++i) {
    CHECK(draw(*one.sampling_session_id, i) == Tokens{5, 7});
    CHECK(draw(*two.sampling_session_id, i) == Tokens{5, 6, 7});
  }
}

TEST_CASE_METHOD(Fixture,
                 "Each sequence of a sample has an id of its own, also when it comes again",
                 "[server][sampling]") {
  const auto base = sampler({.session_id = session, .base_model = "scripted"});
  const auto ids_of = [&](std::int64_t seq_id) {
    AsampleRequest request{.sample = {.prompt = ModelInput::from_ints({1}), .num_samples = 3},
                           .sampling_session_id = base,
                           .seq_id = seq_id};
    const auto body = api.post("asample", wire::to_json(request).value()).body;
    const auto json = wire::parse_json(body, "answer", Errc::protocol_error).value();
    std::vector<std::string> ids;
    for (const auto& id : json["sample_sequence_ids"].GetArray())
      ids.emplace_back(id.GetString());
    return ids;
  };
  const auto first = ids_of(0);
  CHECK(first.size() == 3);
  CHECK(std::set<std::string>(first.begin(), first.end()).size() == 3);
  CHECK(ids_of(0) == first);
  CHECK(ids_of(1) != first);
}

TEST_CASE_METHOD(Fixture, "A sample that comes again is not drawn again", "[server][sampling]") {
  const auto base
      = sampler({.session_id = session, .sampling_session_seq_id = 0, .base_model = "scripted"});
  const auto first = api.submit("asample", sample(base, 0)); // the server draws the seed
  CHECK(api.submit("asample", sample(base, 0)) == first);
  (void)api.result<SampleResponse>(RequestType::sample, first);
  CHECK(api.submit("asample", sample(base, 0)) == first);
  CHECK(trainer->log().size() == 1);
  CHECK(api.post("asample", sample(base, 0, 3)).status == 409);

  // Another sampler has numbers of its own.
  const auto other
      = sampler({.session_id = session, .sampling_session_seq_id = 1, .base_model = "scripted"});
  CHECK(api.submit("asample", sample(other, 0)) != first);
}

TEST_CASE_METHOD(Fixture, "A sampling session that is asked for again is the same",
                 "[server][sampling]") {
  const CreateSamplingSessionRequest request{
      .session_id = session, .sampling_session_seq_id = 3, .base_model = "scripted"};
  CHECK(sampler(request) == session + ":sample:3");
  CHECK(sampler(request) == session + ":sample:3");
  auto other = request;
  other.model_path = "tinker://a/sampler_weights/b";
  other.base_model.reset();
  CHECK(api.post("create_sampling_session", wire::to_json(other)).status == 404);
}

TEST_CASE_METHOD(Fixture, "Too many waiting samples are held off", "[server][sampling]") {
  options.limits.max_queued_samples = 1;
  options.limits.samples_together = 1;
  restart();
  api = client();
  session = api.session();
  const auto base
      = sampler({.session_id = session, .sampling_session_seq_id = 0, .base_model = "scripted"});
  trainer->hold();
  (void)api.submit("asample", sample(base, 0));
  trainer->wait_for_begun(1);
  (void)api.submit("asample", sample(base, 1));
  CHECK(api.post("asample", sample(base, 2)).status == 429);
  trainer->release();
  (void)api.result<SampleResponse>(RequestType::sample, api.submit("asample", sample(base, 1)));
  CHECK(api.post("asample", sample(base, 2)).status == 200);
}

TEST_CASE_METHOD(Fixture, "Options of newer clients are refused unless they are off",
                 "[server][sampling]") {
  const auto base = sampler({.session_id = session, .base_model = "scripted"});
  const auto ask = [&](const std::string& option) {
    return api.post("asample", R"({"prompt":{"chunks":[{"type":"encoded_text","tokens":[1]}]},)"
                               R"("sampling_params":{},"sampling_session_id":")"
                                   + base + "\"," + option + "}");
  };
  CHECK(ask(R"("topk_sample_logprobs":0,"prompt_logprobs_last_n":null)").status == 200);
  CHECK(ask(R"("record_stability_info":false)").status == 200);
  for (const std::string name :
       {"topk_sample_logprobs", "prompt_alt_tokens_k", "prompt_logprobs_last_n"}) {
    const auto answer = ask('"' + name + "\":2");
    CHECK(answer.status == 400);
    CHECK(answer.body.find(name + ": this server does not know") != std::string::npos);
  }
  CHECK(ask(R"("record_stability_info":true)").status == 400);
  CHECK(ask(R"("target_prompt_logprobs":{"data":[1]})").status == 400);
}

TEST_CASE_METHOD(Fixture, "Wrong requests for samples are refused with the reason",
                 "[server][sampling]") {
  const auto refuse
      = [&](const std::string& call, const std::string& body, int status, const std::string& part) {
          const auto answer = api.post(call, body);
          INFO(answer.body);
          CHECK(answer.status == status);
          CHECK(answer.body.find(part) != std::string::npos);
        };
  const std::string create = "create_sampling_session";
  refuse(create, wire::to_json(CreateSamplingSessionRequest{.session_id = session}), 400,
         "base_model or model_path");
  refuse(
      create,
      wire::to_json(CreateSamplingSessionRequest{.session_id = "gone", .base_model = "scripted"}),
      404, "`gone`");
  refuse(create,
         wire::to_json(CreateSamplingSessionRequest{.session_id = session, .base_model = "other"}),
         400, "there is: scripted");
  refuse(
      create,
      wire::to_json(CreateSamplingSessionRequest{.session_id = session, .model_path = "nonsense"}),
      400, "tinker://");
  refuse(create,
         wire::to_json(CreateSamplingSessionRequest{.session_id = session,
                                                    .model_path = "tinker://a/weights/b"}),
         400, "train on");
  refuse("asample", sample("nobody", 0), 404, "`nobody`");
  const auto base
      = sampler({.session_id = session, .sampling_session_seq_id = 0, .base_model = "scripted"});
  refuse("asample", sample(base, -1), 400, "seq_id");
  AsampleRequest none{.sample = {.prompt = ModelInput::from_ints({1}), .num_samples = 0},
                      .sampling_session_id = base};
  refuse("asample", wire::to_json(none).value(), 400, "num_samples");
  auto many = none;
  many.sample.num_samples = 1025;
  refuse("asample", wire::to_json(many).value(), 400,
         "num_samples: must be at most 1024, but is 1025");
}
