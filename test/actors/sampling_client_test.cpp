// SPDX-License-Identifier: Apache-2.0
#include "actors/sampling_client.hpp"

#include "test/actors/scripted_service.hpp"

using namespace std::chrono_literals;
using namespace tinkaf;

namespace {

struct Fixture : test::ServiceFixture {
  SamplingClientActor open() {
    open_session();
    auto client = ask<SamplingClientActor>(session_actor, CreateSamplingClient{.base_model = "m"});
    run();
    REQUIRE(client->has_value());
    REQUIRE((*client)->has_value());
    return ***client;
  }

  auto sample(const SamplingClientActor& client) {
    auto answer = ask<SampleResponse>(client, SampleRequest{.prompt = ModelInput::from_ints({1})});
    run();
    return answer;
  }

  std::vector<std::int64_t> numbers() const {
    std::vector<std::int64_t> result;
    for (const auto& request : sent_to(Endpoint::asample))
      result.push_back(wire::from_json<AsampleRequest>(*request.body).value().seq_id.value());
    return result;
  }
};

std::string sampled(Token token) {
  return wire::to_json(SampleResponse{.sequences = {{.tokens = {token}}}}).value();
}

} // namespace

TEST_CASE_METHOD(Fixture, "Samples run side by side, each with a number of its own",
                 "[actors][sampling]") {
  auto client = open();
  auto first = sample(client);
  auto second = sample(client);
  CHECK(numbers() == std::vector<std::int64_t>{0, 1});
  accept(Endpoint::asample, "one");
  accept(Endpoint::asample, "two");
  finish("two", sampled(22));
  REQUIRE(second->has_value());
  CHECK((*second)->value().sequences.at(0).tokens == std::vector<Token>{22});
  CHECK_FALSE(first->has_value());
  finish("one", sampled(11));
  REQUIRE(first->has_value());
  CHECK((*first)->value().sequences.at(0).tokens == std::vector<Token>{11});
}

TEST_CASE_METHOD(Fixture, "No more samples are under way than the service wants",
                 "[actors][sampling]") {
  config.sample_max_concurrent_requests = 1;
  auto client = open();
  auto first = sample(client);
  auto second = sample(client);
  CHECK(numbers() == std::vector<std::int64_t>{0});
  refuse(Endpoint::asample, test::json(400, R"({"detail":"no"})"));
  REQUIRE(first->has_value());
  CHECK((*first)->error().code == Errc::invalid_argument);
  CHECK(numbers() == std::vector<std::int64_t>{0, 1});
  CHECK_FALSE(second->has_value());
}

TEST_CASE_METHOD(Fixture, "Bad parameters are named and not sent", "[actors][sampling]") {
  auto client = open();
  auto answer = ask<SampleResponse>(
      client, SampleRequest{.prompt = ModelInput::from_ints({1}), .sampling_params = {.top_p = 0}});
  run();
  REQUIRE(answer->has_value());
  CHECK((*answer)->error().message.find("top_p") != std::string::npos);
  CHECK(numbers().empty());
}

TEST_CASE_METHOD(Fixture, "The logprobs of a prompt come one per token, the first empty",
                 "[actors][sampling]") {
  auto client = open();
  auto answer
      = ask<PromptLogprobs>(client, atom::compute_logprobs_v, ModelInput::from_ints({1, 2}));
  run();
  auto request = wire::from_json<AsampleRequest>(*sent_to(Endpoint::asample).at(0).body).value();
  CHECK(request.sample.include_prompt_logprobs);
  CHECK(request.sample.sampling_params.max_tokens == 1);
  accept(Endpoint::asample, "one");
  finish("one",
         wire::to_json(SampleResponse{.sequences = {{.tokens = {3}}},
                                      .prompt_logprobs = PromptLogprobs{std::nullopt, -0.5F}})
             .value());
  REQUIRE(answer->has_value());
  CHECK((*answer)->value() == PromptLogprobs{std::nullopt, -0.5F});
}
