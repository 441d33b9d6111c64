// SPDX-License-Identifier: Apache-2.0
#include "train/policy_batch.hpp"

#include "test/catch.hpp"

#include <array>
#include <cmath>

using namespace tinkaf;
using namespace tinkaf::train;

namespace {

constexpr auto prompt = std::array<Token, 3>{10, 11, 12};

Rollout rollout() {
  return {prompt, {StopReason::stop, {20, 21}, std::vector<float>{-0.5F, -1.5F}}, {0.25F, -0.75F}};
}

ForwardBackwardOutput output_of(std::vector<float> logprobs) {
  auto output = ForwardBackwardOutput{};
  output.loss_fn_outputs.push_back({{"logprobs", TensorData::of(std::move(logprobs))}});
  return output;
}

} // namespace

TEST_CASE("An answer is trained on where it is predicted, its prompt is not", "[train][policy]") {
  const auto datum = policy_datum(rollout());
  const auto& inputs = datum.loss_fn_inputs;
  CHECK(*to_ints(datum.model_input) == std::vector<Token>{10, 11, 12, 20});
  CHECK(*inputs.at("target_tokens").ints() == std::vector<std::int64_t>{0, 0, 20, 21});
  CHECK(*inputs.at("logprobs").floats() == std::vector<float>{0, 0, -0.5F, -1.5F});
  CHECK(*inputs.at("advantages").floats() == std::vector<float>{0, 0, 0.25F, -0.75F});
  CHECK(inputs.size() == 3);
}

TEST_CASE("How far the trained model is from the sampled one is measured on answers alone",
          "[train][policy]") {
  const auto rollouts = std::vector{rollout()};
  const auto kl = measure_kl(rollouts, output_of({-9.0F, -9.0F, -1.0F, -1.25F}));
  REQUIRE(kl);
  CHECK(kl->v1 == (0.5 - 0.25) / 2);
  CHECK(kl->v2 == (0.25 + 0.0625) / 2 / 2);
  const auto none = measure_kl({}, ForwardBackwardOutput{});
  REQUIRE(none);
  CHECK(std::isnan(none->v1));
  CHECK(std::isnan(none->v2));
}

TEST_CASE("An output that does not fit its answers is named", "[train][policy][errors]") {
  const auto rollouts = std::vector{rollout()};
  const auto message = [&](const ForwardBackwardOutput& output) {
    const auto kl = measure_kl(rollouts, output);
    REQUIRE_FALSE(kl);
    CHECK(kl.error().code == Errc::protocol_error);
    return kl.error().message;
  };
  CHECK(message({}) == "1 answers were sent, but 0 outputs came back");
  CHECK(message(output_of({-1.0F})) == "output 0 has no \"logprobs\" for its 4 tokens");
  auto without = ForwardBackwardOutput{};
  without.loss_fn_outputs.emplace_back();
  CHECK(message(without) == "output 0 has no \"logprobs\" for its 4 tokens");
}

TEST_CASE("A sample without tokens or their log-probabilities is refused",
          "[train][policy][errors]") {
  auto answer = rollout().answer;
  CHECK(check_answer(answer));
  answer.logprobs->pop_back();
  CHECK(check_answer(answer).error().message
        == "a sample of 2 tokens came back with 1 log-probabilities");
  answer.logprobs.reset();
  CHECK(check_answer(answer).error().code == Errc::protocol_error);
  answer = {StopReason::length, {}, std::vector<float>{}};
  CHECK(check_answer(answer).error().message == "a sample came back without tokens");
}
