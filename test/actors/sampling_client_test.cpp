// SPDX-License-Identifier: Apache-2.0
#include "actors/sampling_client.hpp"

#include "test/actors/scripted_service.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace tinkaf;

namespace {

struct Fixture : test::ServiceFixture {
  SamplingClientActor open(const CreateSamplingClient& spec = {.base_model = "m"}) {
    settings.options.sampling.jitter = 0.0;
    open_session();
    auto client = ask<SamplingClientActor>(session_actor, spec);
    run();
    REQUIRE(client->has_value());
    REQUIRE((*client)->has_value());
    return ***client;
  }

  test::Answer<SampleResponse> sample(const SamplingClientActor& client) {
    return sample_as(asker(), client);
  }

  test::Answer<SampleResponse> sample_as(const caf::actor& who, const SamplingClientActor& client) {
    auto answer
        = ask_as<SampleResponse>(who, client, SampleRequest{.prompt = ModelInput::from_ints({1})});
    run();
    return answer;
  }

  /// Samples whose submission is open.
  std::size_t submitting() const {
    return transport->open_count(path(Endpoint::asample));
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

TEST_CASE_METHOD(Fixture, "A 429 costs a sample neither a number nor a try", "[actors][sampling]") {
  auto client = open();
  auto first = sample(client);
  for (int i = 0; i < 20; ++i) {
    refuse(Endpoint::asample, test::json(429, R"({"detail":"slow down"})"));
    CHECK(submitting() == 0);
    pass(1'250ms); // the wait and its jitter
    CHECK(submitting() == 1);
  }
  auto requests = sent_to(Endpoint::asample);
  REQUIRE(requests.size() == 21);
  for (const auto& request : requests) {
    CHECK(*request.body == *requests[0].body);
    CHECK(test::header(request.headers, "X-Idempotency-Key")
          == test::header(requests[0].headers, "X-Idempotency-Key"));
  }
  accept(Endpoint::asample, "one");
  finish("one", sampled(11));
  REQUIRE(first->has_value());
  CHECK((*first)->has_value());
}

TEST_CASE_METHOD(Fixture,
                 "A 429 holds back all sampling clients of the session for as long as asked",
                 "[actors][sampling]") {
  auto client = open();
  auto other = ask<SamplingClientActor>(session_actor, CreateSamplingClient{.base_model = "n"});
  run();
  auto first = sample(client);
  refuse(Endpoint::asample, test::json(429, "{}", {{"retry-after", "30"}}));
  auto second = sample((*other)->value());
  pass(29'999ms);
  CHECK(submitting() == 0);
  pass(7'501ms); // and the jitter
  CHECK(submitting() == 2);
}

TEST_CASE_METHOD(Fixture, "Twenty samples at once take the numbers from 0, also behind a 429",
                 "[actors][sampling]") {
  auto client = open();
  std::vector<test::Answer<SampleResponse>> answers;
  answers.push_back(sample(client));
  refuse(Endpoint::asample, test::json(429, "{}"));
  for (int i = 1; i < 20; ++i)
    answers.push_back(sample(client));
  pass(2s);
  for (int i = 0; i < 20; ++i) {
    accept(Endpoint::asample, "r" + std::to_string(i) + "!");
    pass(1s);
  }
  auto all = numbers();
  CHECK(std::set<std::int64_t>(all.begin(), all.end()).size() == 20);
  CHECK(*std::max_element(all.begin(), all.end()) == 19);
  CHECK(all.size() == 21); // one was sent twice
  for (int i = 0; i < 20; ++i)
    finish("r" + std::to_string(i) + "!", sampled(i));
  for (const auto& answer : answers)
    CHECK((answer->has_value() && (*answer)->has_value()));
}

TEST_CASE_METHOD(Fixture, "A sample waits for an account without credit, but not for ever",
                 "[actors][sampling]") {
  config.billing_exception_max_pause_duration = 3s;
  auto client = open();
  auto answer = sample(client);
  auto broke = test::json(402, R"({"detail":"no credit"})");
  refuse(Endpoint::asample, broke);
  CHECK_FALSE(answer->has_value());
  pass(1'250ms);
  CHECK(numbers() == std::vector<std::int64_t>{0, 0});
  pass(3s);
  refuse(Endpoint::asample, broke);
  REQUIRE(answer->has_value());
  CHECK((*answer)->error().code == Errc::payment_required);
}

TEST_CASE_METHOD(Fixture, "A sample whose result was dropped is drawn again under a new number",
                 "[actors][sampling]") {
  auto client = open();
  auto answer = sample(client);
  std::chrono::milliseconds pause{500};
  for (int i = 1; i < 7; ++i) {
    auto id = "gone" + std::to_string(i);
    expired.insert(id);
    accept(Endpoint::asample, id);
    pass(pause - 1ms);
    CHECK(numbers().size() == static_cast<std::size_t>(i));
    pass(1ms);
    CHECK(numbers().size() == static_cast<std::size_t>(i) + 1);
    pause = std::min(2 * pause, std::chrono::milliseconds{10'000});
  }
  CHECK(numbers() == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6});
  accept(Endpoint::asample, "kept");
  finish("kept", sampled(7));
  CHECK((*answer)->has_value());
}

TEST_CASE_METHOD(Fixture, "Where the service wants no retries, a lost sample is an error",
                 "[actors][sampling]") {
  config.sample_no_retries = true;
  config.sample_max_concurrent_requests = 1;
  auto client = open();
  auto answer = sample(client);
  sample(client);
  CHECK(submitting() == 2); // its limit does not hold either
  expired.insert("gone");
  accept(Endpoint::asample, "gone");
  REQUIRE(answer->has_value());
  CHECK((*answer)->error().code == Errc::future_expired);
  CHECK((*answer)->error().request_id == "gone");
}

TEST_CASE_METHOD(Fixture, "A failed sample is not drawn again", "[actors][sampling]") {
  auto client = open();
  auto answer = sample(client);
  accept(Endpoint::asample, "one");
  finish("one", R"({"error":"prompt too long","category":"user"})");
  REQUIRE(answer->has_value());
  CHECK((*answer)->error().code == Errc::request_failed);
  CHECK((*answer)->error().category == ErrorCategory::user);
  CHECK((*answer)->error().request_id == "one");
  pass(1min);
  CHECK(numbers().size() == 1);
}

TEST_CASE_METHOD(Fixture, "Samples that never end are given up, if the service does not object",
                 "[actors][sampling]") {
  settings.options.sampling.progress_timeout = 100s;
  config.sample_enable_stuck_detection = GENERATE(true, false);
  auto client = open();
  auto early = sample(client);
  accept(Endpoint::asample, "early");
  auto late = sample(client);
  accept(Endpoint::asample, "late");
  pass(60s);
  finish("early", sampled(1));
  CHECK(early->has_value());
  pass(95s);
  CHECK_FALSE(late->has_value()); // the other one was progress
  pass(10s);
  CHECK(late->has_value() == config.sample_enable_stuck_detection);
  if (late->has_value()) {
    CHECK((*late)->error().code == Errc::connection);
    CHECK((*late)->error().message.find("stuck") != std::string::npos);
  }
}

TEST_CASE_METHOD(Fixture, "One sample can be given up wherever it is",
                 "[actors][sampling][cancel]") {
  config.sample_max_concurrent_requests = 2;
  auto client = open();
  auto one = make_asker();
  auto polled = sample_as(one, client);
  accept(Endpoint::asample, "polled");
  auto submitted = sample_as(one, client);
  auto waiting = sample_as(one, client);
  auto other = sample(client);
  CHECK(submitting() == 1);
  auto polls = [this] { return sent_to(Endpoint::retrieve_future).size(); };
  // CAF numbers the requests of an actor from 1.
  for (std::uint64_t call : {3, 2, 1}) {
    tell_as(one, client, atom::cancel_v, call);
    run();
  }
  for (const auto& answer : {polled, submitted, waiting}) {
    REQUIRE(answer->has_value());
    CHECK((*answer)->error().code == Errc::cancelled);
  }
  CHECK(numbers() == std::vector<std::int64_t>{0, 1, 2}); // the last is that of `other`
  auto before = polls();
  accept(Endpoint::asample, "given up");
  pass(1min);
  CHECK(polls() == before); // nobody waits for what was given up
  accept(Endpoint::asample, "other");
  finish("other", sampled(5));
  REQUIRE(other->has_value());
  CHECK((*other)->has_value());
}

TEST_CASE_METHOD(Fixture, "The samples of an asker that has ended are given up",
                 "[actors][sampling][cancel]") {
  config.sample_max_concurrent_requests = 1;
  auto client = open();
  auto dying = make_asker();
  sample_as(dying, client);
  sample_as(dying, client);
  accept(Endpoint::asample, "first");
  auto other = sample(client);
  CHECK(numbers().size() == 1);
  kill(dying);
  CHECK(numbers().size() == 2); // that of `other`, which is next
  accept(Endpoint::asample, "other");
  finish("other", sampled(5));
  CHECK((*other)->has_value());
}

TEST_CASE_METHOD(Fixture, "Thousands of samples wait without a body, 400 are submitted at a time",
                 "[actors][sampling]") {
  auto client = open();
  std::vector<test::Answer<SampleResponse>> answers;
  for (int i = 0; i < 3'000; ++i)
    answers.push_back(
        ask<SampleResponse>(client, SampleRequest{.prompt = ModelInput::from_ints({1, 2, 3})}));
  run();
  CHECK(submitting() == 400);
  CHECK(transport->sent.size() < 500); // a body is made when it is sent
  std::size_t most = 0;
  for (int i = 0; i < 2'000; ++i) {
    accept(Endpoint::asample, "r");
    most = std::max(most, submitting());
  }
  CHECK(most == 400);
  CHECK(submitting() == 0); // 2,000 are under way, the rest waits for them
  finish("r", sampled(1));
  CHECK(submitting() == 400);
}

TEST_CASE_METHOD(Fixture, "A sampling session's id is enough for a client", "[actors][sampling]") {
  auto client = open({.sampling_session_id = "ephemeral-7"});
  CHECK(sent_to(Endpoint::create_sampling_session).empty());
  sample(client);
  auto request = wire::from_json<AsampleRequest>(*sent_to(Endpoint::asample).at(0).body).value();
  CHECK(request.sampling_session_id == "ephemeral-7");
  CHECK(request.seq_id == 0);
}

TEST_CASE_METHOD(Fixture, "A client without a model is refused by name", "[actors][sampling]") {
  open_session();
  auto refused = [this](const CreateSamplingClient& spec) {
    auto client = ask<SamplingClientActor>(session_actor, spec);
    run();
    REQUIRE(client->has_value());
    return (*client)->error().message;
  };
  CHECK(refused({}).find("model_path") != std::string::npos);
  CHECK(refused({.model_path = "http://x"}).find("tinker://") != std::string::npos);
  CHECK(sent_to(Endpoint::create_sampling_session).empty());
}

TEST_CASE_METHOD(Fixture, "A client tells the model below its weights", "[actors][sampling]") {
  auto client = open({.sampling_session_id = "sess-7:sample:0/?"});
  auto answer = ask<std::string>(client, atom::get_base_model_v);
  run();
  REQUIRE(transport->answer("/api/v1/samplers/sess-7:sample:0%2F%3F",
                            test::json(200, R"({"sampler_id":"sess-7:sample:0",
                                               "base_model":"acme/tiny-1b","model_path":null})")));
  run();
  REQUIRE(answer->has_value());
  CHECK((*answer)->value() == "acme/tiny-1b");
}
