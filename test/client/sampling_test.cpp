// SPDX-License-Identifier: Apache-2.0
#include "test/client/local_service.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace tinkaf;

// Sampling through the façade, against the local server over a real socket.

namespace {

constexpr auto limit = 60s;

struct Fixture : test::LocalService {
  SamplingClient sampler(WireFormat format = WireFormat::automatic) const {
    ClientOptions options;
    options.base_url = server->address();
    options.api_key = "tml-good";
    options.wire_format = format;
    auto service = Service::connect(std::move(options));
    REQUIRE(service.has_value());
    auto client = service->create_sampling_client("tiny");
    REQUIRE(client.has_value());
    return *client;
  }
};

const auto prompt = ModelInput::from_ints({10, 40, 41});

SampleResponse drawn(const SamplingClient& client, SampleRequest request) {
  auto result = client.sample(std::move(request)).get(limit);
  INFO((result ? "" : to_string(result.error())));
  REQUIRE(result.has_value());
  return *result;
}

} // namespace

TEST_CASE_METHOD(Fixture, "A seed gives the same samples, alone, under load and in either format",
                 "[client][sampling]") {
  auto request = SampleRequest{
      .prompt = prompt, .num_samples = 3, .sampling_params = {.max_tokens = 8, .seed = 5}};
  auto client = sampler();
  auto alone = drawn(client, request);
  REQUIRE(alone.sequences.size() == 3);
  CHECK(alone.sequences[0] != alone.sequences[1]);
  for (const auto& sequence : alone.sequences) {
    REQUIRE(sequence.logprobs.has_value());
    CHECK(sequence.logprobs->size() == sequence.tokens.size());
  }
  std::vector<Future<SampleResponse>> load;
  for (int i = 0; i < 20; ++i)
    load.push_back(client.sample(request));
  for (const auto& one : load)
    CHECK(one.get(limit).value() == alone);
  CHECK(drawn(sampler(WireFormat::json), request) == alone);
}

TEST_CASE_METHOD(Fixture, "Sampling stops at a text, at one of several, or at a token",
                 "[client][sampling]") {
  auto client = sampler();
  auto request = SampleRequest{.prompt = prompt, .sampling_params = {.max_tokens = 12, .seed = 3}};
  auto whole = drawn(client, request).sequences.at(0);
  REQUIRE(whole.tokens.size() > 3);
  auto token = whole.tokens.at(2);
  auto first = std::find(whole.tokens.begin(), whole.tokens.end(), token);

  request.sampling_params.stop = std::vector<Token>{token};
  auto stopped = drawn(client, request).sequences.at(0);
  CHECK(stopped.stop_reason == StopReason::stop);
  CHECK(stopped.tokens == std::vector<Token>(whole.tokens.begin(), first + 1));

  for (const auto& stop : {Stop{std::string{"no such text anywhere"}},
                           Stop{std::vector<std::string>{"nor this one", "nor that one"}}}) {
    request.sampling_params.stop = stop;
    CHECK(drawn(client, request).sequences.at(0) == whole);
  }
}

TEST_CASE_METHOD(Fixture, "The logprobs of a prompt come once, however many samples",
                 "[client][sampling]") {
  auto format = GENERATE(WireFormat::protobuf, WireFormat::json);
  auto client = sampler(format);
  auto response = drawn(client, {.prompt = prompt,
                                 .num_samples = 2,
                                 .sampling_params = {.max_tokens = 2},
                                 .include_prompt_logprobs = true,
                                 .topk_prompt_logprobs = 3});
  CHECK(response.sequences.size() == 2);
  REQUIRE(response.prompt_logprobs.has_value());
  REQUIRE(response.prompt_logprobs->size() == 3);
  CHECK_FALSE(response.prompt_logprobs->at(0).has_value());
  CHECK(response.prompt_logprobs->at(1).value() < 0);
  REQUIRE(response.topk_prompt_logprobs.has_value());
  const auto& top = *response.topk_prompt_logprobs;
  REQUIRE(top.size() == 3);
  CHECK_FALSE(top[0].has_value());
  REQUIRE(top[1].has_value());
  REQUIRE(top[1]->size() == 3);
  CHECK(top[1]->at(0).second >= top[1]->at(1).second);

  auto logprobs = client.compute_logprobs(prompt).get(limit);
  REQUIRE(logprobs.has_value());
  CHECK(*logprobs == *response.prompt_logprobs);
  CHECK_FALSE(
      drawn(client, {.prompt = prompt, .sampling_params = {.max_tokens = 1}}).prompt_logprobs);
}

TEST_CASE_METHOD(Fixture, "Bad input is refused by the field's name before anything is sent",
                 "[client][sampling][errors]") {
  auto client = sampler();
  auto refused = [&](SampleRequest request) {
    auto result = client.sample(std::move(request)).get(limit);
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().code == Errc::invalid_argument);
    CHECK(result.error().request_id.empty());
    return result.error().message;
  };
  auto with = [](SamplingParams params) {
    return SampleRequest{.prompt = prompt, .sampling_params = std::move(params)};
  };
  CHECK(refused({.prompt = ModelInput::from_ints({1, -5})})
        == "prompt.chunks[0].tokens[1] is -5, but must be at least 0");
  CHECK(refused({.prompt = ModelInput::from_ints({})}).find("prompt is empty") == 0);
  CHECK(refused({.prompt = prompt, .num_samples = 0}).find("num_samples") == 0);
  CHECK(refused({.prompt = prompt, .topk_prompt_logprobs = -1}).find("topk_prompt_logprobs") == 0);
  CHECK(refused(with({.max_tokens = 0})).find("sampling_params.max_tokens") == 0);
  CHECK(refused(with({.stop = std::string{}})).find("sampling_params.stop") == 0);
  CHECK(refused(with({.stop = std::vector<std::string>{"a", ""}})).find("sampling_params.stop[1]")
        == 0);
  CHECK(refused(with({.stop = std::vector<Token>{-1}})).find("sampling_params.stop[0]") == 0);
}

TEST_CASE_METHOD(Fixture, "A prompt beyond the context is refused with length and limit",
                 "[client][sampling][errors]") {
  auto client = sampler();
  auto result
      = client.sample(ModelInput::from_ints(std::vector<Token>(100'000, 7)), 1, {.max_tokens = 1})
            .get(limit);
  REQUIRE_FALSE(result.has_value());
  INFO(result.error().message);
  CHECK(result.error().category == ErrorCategory::user);
  CHECK(result.error().message.find("100000") != std::string::npos);
  CHECK(result.error().request_id.empty()); // nothing was sent
}

TEST_CASE_METHOD(Fixture, "A client knows the model below its weights", "[client][sampling]") {
  auto service = connect();
  auto client = service.create_sampling_client("tiny");
  REQUIRE(client.has_value());
  CHECK(client->get_base_model().get(limit).value() == "tiny");
}

TEST_CASE_METHOD(Fixture, "Two thousand samples submitted at once are all answered",
                 "[client][sampling]") {
  auto client = sampler();
  std::vector<Future<SampleResponse>> samples;
  for (int i = 0; i < 2'000; ++i)
    samples.push_back(client.sample(prompt, 1, {.max_tokens = 1, .seed = i}));
  std::size_t answered = 0;
  for (const auto& sample : samples)
    answered += sample.get(limit).has_value() ? 1 : 0;
  CHECK(answered == samples.size());
}

TEST_CASE_METHOD(Fixture, "A stream hands out samples as they end", "[client][sampling][stream]") {
  auto client = sampler();
  int next = 0;
  auto stream = client.sample_stream(
      [&next]() -> std::optional<SampleRequest> {
        if (next == 100)
          return std::nullopt;
        // The last one is refused.
        auto tokens = std::vector<Token>{10, next == 99 ? -1 : 40};
        ++next;
        return SampleRequest{.prompt = ModelInput::from_ints(std::move(tokens)),
                             .sampling_params = {.max_tokens = 2}};
      },
      8);
  std::set<std::uint64_t> seen;
  std::size_t failed = 0;
  for (const auto& [index, result] : stream) {
    seen.insert(index);
    failed += result ? 0 : 1;
  }
  CHECK(seen.size() == 100);
  CHECK(failed == 1);
  CHECK_FALSE(stream.next().has_value());
}

TEST_CASE_METHOD(Fixture, "A stream without end can be left", "[client][sampling][stream]") {
  auto client = sampler();
  auto endless = [] {
    return std::optional{SampleRequest{.prompt = prompt, .sampling_params = {.max_tokens = 1}}};
  };
  SECTION("by dropping it") {
    auto stream = client.sample_stream(endless, 4);
    CHECK(stream.next().has_value());
  }
  SECTION("by saying so") {
    auto stream = client.sample_stream(endless, 4);
    CHECK(stream.next().has_value());
    stream.cancel();
    int rest = 0;
    while (stream.next() && rest < 1'000)
      ++rest;
    CHECK(rest < 1'000);
  }
  CHECK(client.sample(prompt, 1, {.max_tokens = 1}).get(limit).has_value());
}

TEST_CASE_METHOD(Fixture, "A call that is given up is answered at once, others go on",
                 "[client][sampling][cancel]") {
  auto client = sampler();
  std::vector<Future<SampleResponse>> samples;
  for (int i = 0; i < 200; ++i)
    samples.push_back(client.sample(prompt, 1, {.max_tokens = 64, .seed = i}));
  for (std::size_t i = 1; i < samples.size(); ++i)
    samples[i].cancel();
  std::size_t cancelled = 0;
  for (std::size_t i = 1; i < samples.size(); ++i) {
    REQUIRE(samples[i].ready());
    auto result = samples[i].get();
    cancelled += !result && result.error().code == Errc::cancelled ? 1 : 0;
  }
  CHECK(cancelled > 0);
  CHECK(samples[0].get(limit).has_value());
  CHECK(client.sample(prompt, 1, {.max_tokens = 1}).get(limit).has_value());
}
