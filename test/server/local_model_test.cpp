// SPDX-License-Identifier: Apache-2.0
#include "api/wire/protobuf.hpp"
#include "server/model/random_model.hpp"
#include "test/server/server_fixture.hpp"
#include "test/server/tar_reader.hpp"

#include <algorithm>
#include <cstddef>

using namespace tinkaf;
using namespace tinkaf::test;

// The whole server over a small model that really computes.

namespace {

struct Fixture {
  Fixture() {
    const auto dir = folder.path() / "model";
    REQUIRE(model::write_random_model(dir).has_value());
    auto started = Server::start({.state_dir = folder.path() / "state",
                                  .models = {{.name = "small", .dir = dir}},
                                  .threads = 1});
    REQUIRE(started.has_value());
    server = std::move(*started);
    api.emplace(*server);
    session = api->session();
    const auto answer = api->post(
        "create_sampling_session",
        wire::to_json(CreateSamplingSessionRequest{.session_id = session, .base_model = "small"}));
    sampler
        = wire::from_json<CreateSamplingSessionResponse>(answer.body).value().sampling_session_id;
  }

  std::string submit(const SampleRequest& request) {
    return api->submit("asample", wire::to_json(AsampleRequest{.sample = request,
                                                               .sampling_session_id = sampler,
                                                               .seq_id = number++})
                                      .value());
  }

  SampleResponse draw(const SampleRequest& request) {
    return api->result<SampleResponse>(RequestType::sample, submit(request));
  }

  TempFolder folder;
  std::unique_ptr<Server> server;
  std::optional<ApiClient> api;
  std::string session;
  std::string sampler;
  std::int64_t number = 0;
};

SampleRequest request(std::int32_t max_tokens, std::int64_t seed = 1) {
  return {.prompt = ModelInput::from_ints({10, 20, 30, 40}),
          .sampling_params = {.max_tokens = max_tokens, .seed = seed}};
}

} // namespace

TEST_CASE_METHOD(Fixture, "Samples of one prompt differ, and a seed brings them again",
                 "[server][sampling][model]") {
  auto several = request(12, 5);
  several.num_samples = 3;
  const auto first = draw(several);
  REQUIRE(first.sequences.size() == 3);
  CHECK(first.sequences[0].tokens != first.sequences[1].tokens);
  CHECK(first.sequences[1].tokens != first.sequences[2].tokens);
  CHECK(draw(several) == first);
  several.sampling_params.seed = 6;
  CHECK(draw(several).sequences != first.sequences);
}

TEST_CASE_METHOD(Fixture, "A sample stops at a token or a text, which it still holds",
                 "[server][sampling][model]") {
  const auto free = draw(request(12)).sequences.at(0);
  REQUIRE(free.tokens.size() > 6);
  const auto stop_at = [&](Stop stop) {
    auto stopped = request(12);
    stopped.sampling_params.stop = std::move(stop);
    return draw(stopped).sequences.at(0);
  };
  // The first place of the token that comes sixth.
  const auto place = static_cast<std::size_t>(
      std::find(free.tokens.begin(), free.tokens.end(), free.tokens[5]) - free.tokens.begin());
  const auto by_token = stop_at(std::vector<Token>{free.tokens[5]});
  CHECK(by_token.stop_reason == StopReason::stop);
  CHECK(by_token.tokens
        == std::vector<Token>(free.tokens.begin(),
                              free.tokens.begin() + static_cast<std::ptrdiff_t>(place) + 1));
  CHECK(by_token.logprobs.value().size() == by_token.tokens.size());
  CHECK(stop_at(std::string{"no model writes this"}).tokens == free.tokens);
  CHECK(stop_at(std::vector<std::string>{"no model", "writes this"}).tokens == free.tokens);
}

TEST_CASE_METHOD(Fixture, "Logprobs of the prompt begin with an empty one, on both wires",
                 "[server][sampling][model]") {
  auto wanted = request(1);
  wanted.num_samples = 2;
  wanted.include_prompt_logprobs = true;
  wanted.topk_prompt_logprobs = 3;
  const auto id = submit(wanted);
  const auto json = api->result<SampleResponse>(RequestType::sample, id);
  REQUIRE(json.prompt_logprobs.has_value());
  REQUIRE(json.prompt_logprobs->size() == 4); // one list, whatever the number of samples
  CHECK_FALSE(json.prompt_logprobs->at(0).has_value());
  REQUIRE(json.topk_prompt_logprobs.has_value());
  REQUIRE(json.topk_prompt_logprobs->size() == 4);
  CHECK_FALSE(json.topk_prompt_logprobs->at(0).has_value());
  for (std::size_t i = 1; i < 4; ++i) {
    REQUIRE(json.prompt_logprobs->at(i).has_value());
    CHECK(*json.prompt_logprobs->at(i) < 0.0F);
    const auto& top = json.topk_prompt_logprobs->at(i).value();
    REQUIRE(top.size() == 3);
    CHECK(top[0].second >= top[1].second);
    CHECK(top[1].second >= top[2].second);
    CHECK(*json.prompt_logprobs->at(i) <= top[0].second);
  }
  CHECK(api->post("retrieve_future", ApiClient::poll_body(id))
            .body.find(R"("prompt_logprobs":[null,)")
        != std::string::npos);

  const auto answer = api->http.call(
      "POST", "/api/v1/retrieve_future", ApiClient::poll_body(id),
      {{"Content-Type", "application/json"}, {"Accept", "application/x-protobuf"}});
  CHECK(answer.headers.at("content-type").find("protobuf") != std::string::npos);
  const auto binary = wire::sample_response_from_protobuf(answer.body);
  REQUIRE(binary.has_value());
  CHECK(binary->prompt_logprobs == json.prompt_logprobs);
  CHECK(binary->topk_prompt_logprobs == json.topk_prompt_logprobs);
  CHECK(binary->sequences == json.sequences);
}

TEST_CASE_METHOD(Fixture, "The likeliest tokens alone leave out the list of the prompt",
                 "[server][sampling][model]") {
  auto wanted = request(1);
  wanted.topk_prompt_logprobs = 1;
  const auto response = draw(wanted);
  CHECK_FALSE(response.prompt_logprobs.has_value());
  CHECK(response.topk_prompt_logprobs.value().size() == 4);
}

TEST_CASE_METHOD(Fixture, "An archive of a trained adapter is in the PEFT layout",
                 "[server][archive][model]") {
  const auto id = api->model(session, 0, "small");
  const auto fetch = [&](const std::string& checkpoint) {
    const auto told = api->get("training_runs/" + id + "/checkpoints/" + checkpoint + "/archive");
    REQUIRE(told.status == 302);
    const auto path = told.headers.at("location").substr(std::string{"http://localhost"}.size());
    return read_tar(api->http.call("GET", path).body);
  };
  (void)api->result<SaveWeightsResponse>(
      RequestType::save_weights,
      api->submit("save_weights", wire::to_json(SaveWeightsRequest{.model_id = id, .path = "a"})));
  (void)api->result<SaveWeightsForSamplerResponse>(
      RequestType::save_weights_for_sampler,
      api->submit("save_weights_for_sampler",
                  wire::to_json(SaveWeightsForSamplerRequest{.model_id = id, .path = "a"})));
  const auto names = [](const std::map<std::string, std::string>& files) {
    std::vector<std::string> out;
    for (const auto& [name, text] : files)
      out.push_back(name);
    return out;
  };
  const auto for_sampler = fetch("sampler_weights/a");
  CHECK(names(for_sampler)
        == std::vector<std::string>{"adapter_config.json", "adapter_model.safetensors",
                                    "checkpoint_complete"});
  CHECK(names(fetch("weights/a"))
        == std::vector<std::string>{"adapter_config.json", "adapter_model.safetensors",
                                    "checkpoint_complete", "optimizer.safetensors",
                                    "training_state.json"});
  const auto& config = for_sampler.at("adapter_config.json");
  for (const auto* part : {R"("peft_type": "LORA")", R"("r": 4)", R"("lora_alpha": 32)",
                           R"("base_model_name_or_path": "small")"})
    CHECK(config.find(part) != std::string::npos);
  CHECK(for_sampler.at("adapter_model.safetensors")
            .find("base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight")
        != std::string::npos);
}
