// SPDX-License-Identifier: Apache-2.0
#include "test/actors/insides.hpp"
#include "test/actors/training_fixture.hpp"

using namespace std::chrono_literals;
using namespace tinkaf;

// What is too long for a model is refused before anything is sent.

namespace {

const std::string four_tokens
    = R"({"supported_models":[{"model_name":"tiny","max_context_length":4},)"
      R"({"model_name":"large","max_context_length":100}]})";

Datum datum(std::size_t tokens) {
  return {.model_input = ModelInput::from_ints(std::vector<Token>(tokens, 1)),
          .loss_fn_inputs
          = {{"target_tokens", TensorData::of(std::vector<std::int64_t>(tokens, 2))},
             {"weights", TensorData::of(std::vector<float>(tokens, 1.0F))}}};
}

Result<CustomLossValue> no_loss(const CustomLossInput&) {
  return fail(Errc::internal, "not to be called");
}

struct Fixture : test::TrainingFixture {
  SamplingClientActor sampler(CreateSamplingClient spec) {
    auto client = ask<SamplingClientActor>(session_actor, std::move(spec));
    run();
    REQUIRE(client->has_value());
    REQUIRE((*client)->has_value());
    opened_with = transport->sent.size();
    return ***client;
  }

  test::Answer<SampleResponse> sample(const SamplingClientActor& client, std::size_t tokens,
                                      std::optional<std::int32_t> max_tokens) {
    auto request = SampleRequest{.prompt = ModelInput::from_ints(std::vector<Token>(tokens, 1))};
    request.sampling_params.max_tokens = max_tokens;
    auto answer = ask<SampleResponse>(client, std::move(request));
    run();
    return answer;
  }

  /// A client of a model that somebody else has made.
  TrainingClientActor attach(std::string base_model) {
    open_session();
    return hand_out(AttachTrainingClient{"model-1", 1, {}, std::move(base_model)});
  }

  template <class Spec>
  TrainingClientActor hand_out(Spec spec) {
    auto client = ask<TrainingClientActor>(session_actor, std::move(spec));
    run();
    REQUIRE(client->has_value());
    REQUIRE((*client)->has_value());
    opened_with = transport->sent.size();
    return ***client;
  }

  /// A batch of four tokens is sent, and one of five is not.
  void check_limit_of_four(const TrainingClientActor& client) {
    auto pass = ask<ForwardBackwardOutput>(client, atom::forward_v,
                                           ForwardBackwardInput{make_batch({datum(5)})});
    run();
    REQUIRE(pass->has_value());
    REQUIRE_FALSE((*pass)->has_value());
    CHECK((*pass)->error().message.find("at most 4") != std::string::npos);
    CHECK(transport->sent.size() == opened_with);
    (void)forward_backward(client, {datum(4)});
    CHECK(sent_to(Endpoint::forward_backward).size() == 1);
  }

  /// The service says what models are adapters of.
  void tell_base_model(const std::string& name) {
    replies.insert_or_assign(std::string{path(Endpoint::get_info)},
                             test::json(200, R"({"model_id":"model-1","model_name":")" + name
                                                 + R"(","model_data":{"model_name":")" + name
                                                 + R"("}})"));
  }

  std::size_t times_asked() const {
    std::size_t count = 0;
    for (const auto& sent : transport->sent)
      if (sent.request.path == path(Endpoint::get_server_capabilities))
        ++count;
    return count;
  }
};

void check_refused(const auto& answer, std::initializer_list<const char*> parts) {
  REQUIRE(answer->has_value());
  REQUIRE_FALSE((*answer)->has_value());
  CHECK((*answer)->error().code == Errc::invalid_argument);
  for (const auto* part : parts)
    CHECK((*answer)->error().message.find(part) != std::string::npos);
}

} // namespace

TEST_CASE_METHOD(Fixture, "A datum beyond the model's context is named, and takes no number",
                 "[actors][training][limits]") {
  capabilities = test::json(200, four_tokens);
  auto client = open();
  auto pass = ask<ForwardBackwardOutput>(client, atom::forward_v,
                                         ForwardBackwardInput{make_batch({datum(4), datum(5)})});
  auto custom = ask<ForwardBackwardOutput>(client, atom::custom_loss_v,
                                           make_batch({datum(3), datum(4), datum(6)}),
                                           CustomLossFn{no_loss});
  run();
  check_refused(pass, {"data[1]", "5 tokens", "at most 4"});
  check_refused(custom, {"data[2]", "6 tokens", "at most 4"});
  CHECK(transport->sent.size() == opened_with);
  (void)forward_backward(client, {datum(4)});
  CHECK(numbers<ForwardBackwardRequest>(Endpoint::forward_backward)
        == std::vector<std::int64_t>{1});
}

TEST_CASE_METHOD(Fixture, "A session asks for the limits once, and clients are made in their order",
                 "[actors][session][limits]") {
  capabilities = test::json(200, four_tokens);
  open_session();
  auto first = ask<TrainingClientActor>(session_actor, CreateLoraTrainingClient{"tiny", {}, {}});
  auto second = ask<TrainingClientActor>(session_actor, CreateLoraTrainingClient{"large", {}, {}});
  run();
  REQUIRE(first->has_value());
  REQUIRE(second->has_value());
  auto models = sent_to(Endpoint::create_model);
  REQUIRE(models.size() == 2);
  CHECK(models[0].body->find("tiny") != std::string::npos);
  CHECK(times_asked() == 1);
  // The other model takes more.
  (void)forward_backward(***second, {datum(5)});
  CHECK(sent_to(Endpoint::forward_backward).size() == 1);
}

TEST_CASE_METHOD(Fixture, "Where the service does not tell its limits, nothing is refused for them",
                 "[actors][training][limits]") {
  SECTION("because it has no such call") {
    capabilities = test::json(404, "{}");
  }
  SECTION("because it says nothing of this model") {
    capabilities = test::json(200, R"({"supported_models":[{"model_name":"tiny"},)"
                                   R"({"model_name":"other","max_context_length":1}]})");
  }
  SECTION("because its answer is none") {
    capabilities = test::json(200, "[]");
  }
  auto client = open();
  (void)forward_backward(client, {datum(5)});
  CHECK(sent_to(Endpoint::forward_backward).size() == 1);
}

TEST_CASE_METHOD(Fixture, "A prompt that leaves no room for its sample is refused",
                 "[actors][sampling][limits]") {
  capabilities = test::json(200, four_tokens);
  open_session();
  auto client = sampler({.base_model = "tiny"});
  check_refused(sample(client, 3, 2), {"3 tokens", "max_tokens is 2", "at most 4"});
  check_refused(sample(client, 4, {}), {"4 tokens", "at most 4"});
  auto logprobs
      = ask<PromptLogprobs>(client, atom::compute_logprobs_v, ModelInput::from_ints({1, 2, 3, 4}));
  run();
  check_refused(logprobs, {"4 tokens", "max_tokens is 1", "at most 4"});
  CHECK(transport->sent.size() == opened_with);
  (void)sample(client, 3, 1);
  CHECK(sent_to(Endpoint::asample).size() == 1);
}

TEST_CASE_METHOD(Fixture, "Weights of an unknown base are looked up once a prompt may be too long",
                 "[actors][sampling][limits]") {
  capabilities = test::json(200, four_tokens);
  open_session();
  auto client = sampler({.model_path = "tinker://run-1/sampler_weights/a"});
  (void)sample(client, 3, 1);
  REQUIRE(transport->sent.size() == opened_with + 1);
  auto refused = sample(client, 5, 1);
  auto also = sample(client, 6, 1);
  CHECK(transport->sent.size() == opened_with + 2); // one question for both
  CHECK_FALSE(refused->has_value());
  auto lookup = transport->sent.back().request.path;
  CHECK(lookup.find("samplers/sampling-1") != std::string::npos);
  SECTION("and refused if it is") {
    REQUIRE(transport->answer(
        lookup, test::json(200, R"({"sampler_id":"sampling-1","base_model":"tiny"})")));
    run();
    check_refused(refused, {"5 tokens", "at most 4"});
    check_refused(also, {"6 tokens"});
  }
  SECTION("and sent if it is not") {
    REQUIRE(transport->answer(
        lookup, test::json(200, R"({"sampler_id":"sampling-1","base_model":"large"})")));
    run();
    CHECK(sent_to(Endpoint::asample).size() == 3);
  }
  SECTION("and sent if the service does not tell") {
    REQUIRE(transport->answer(lookup, test::json(404, "{}")));
    run();
    CHECK(sent_to(Endpoint::asample).size() == 3);
  }
}

TEST_CASE_METHOD(Fixture, "A client whose worker broke knows the limit as before",
                 "[actors][training][limits][supervision]") {
  capabilities = test::json(200, four_tokens);
  auto client = open();
  kill(test::worker_of(client));
  pass(200ms);
  opened_with = transport->sent.size();
  check_limit_of_four(client);
}

TEST_CASE_METHOD(Fixture, "A client that goes on with a model checks lengths too",
                 "[actors][training][limits][attach]") {
  capabilities = test::json(200, four_tokens);
  SECTION("where it is said what the model is an adapter of") {
    check_limit_of_four(attach("tiny"));
  }
  SECTION("where the service is asked for that, once for all workers") {
    tell_base_model("tiny");
    auto client = attach("");
    kill(test::worker_of(client));
    pass(200ms);
    replies.clear();
    opened_with = transport->sent.size();
    check_limit_of_four(client);
  }
  SECTION("but not where the service does not tell") {
    replies.insert_or_assign(std::string{path(Endpoint::get_info)}, test::json(404, "{}"));
    (void)forward_backward(attach(""), {datum(5)});
    CHECK(sent_to(Endpoint::forward_backward).size() == 1);
  }
}

TEST_CASE_METHOD(Fixture, "A model made by loading a checkpoint has the limit of its base",
                 "[actors][training][limits]") {
  capabilities = test::json(200, four_tokens);
  config.create_model_via_load_weights = true;
  tell_base_model("tiny");
  replies.insert_or_assign(std::string{path(Endpoint::load_weights)},
                           test::json(200, R"({"request_id":"create"})"));
  open_session();
  check_limit_of_four(
      hand_out(CreateTrainingClientFromState{"tinker://run-1/weights/a", false, {}}));
}
