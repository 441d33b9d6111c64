// SPDX-License-Identifier: Apache-2.0
#include "server/model/token_choice.hpp"
#include "test/model/model_fixture.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace tinkaf;
using namespace tinkaf::model;

TEST_CASE("every sampling case gives its distribution", "[model]") {
  for (const auto& x : numeric_cases()["sampling_cases"].GetArray()) {
    INFO(x["id"].GetString());
    const auto logits = numbers<float>(x["logits"]);
    SamplingParams params;
    params.temperature = x["temperature"].GetDouble();
    params.top_k = x["top_k"].GetInt();
    params.top_p = x["top_p"].GetDouble();
    const auto got = candidates(logits, params);
    const auto probabilities = numbers<double>(x["expected"]["probabilities"]);
    std::vector<std::int32_t> kept;
    for (std::size_t i = 0; i < probabilities.size(); ++i)
      if (probabilities[i] > 0.0)
        kept.push_back(static_cast<std::int32_t>(i));
    std::vector<std::int32_t> tokens;
    for (const auto& candidate : got) {
      tokens.push_back(candidate.token);
      CHECK(candidate.probability
            == Catch::Approx(probabilities.at(static_cast<std::size_t>(candidate.token)))
                   .epsilon(1e-6));
    }
    std::sort(tokens.begin(), tokens.end());
    CHECK(tokens == kept);
    const auto plain = numbers<double>(x["expected"]["logprobs_temperature_1"]);
    for (std::size_t i = 0; i < logits.size(); ++i)
      CHECK(tempered_logprob(logits, static_cast<std::int32_t>(i), 1.0)
            == Catch::Approx(plain[i]).epsilon(1e-6));
  }
}

TEST_CASE("equal logits: the lower id comes first", "[model]") {
  const std::vector<float> logits{1.0F, 3.0F, 3.0F, 0.0F};
  SamplingParams greedy;
  greedy.temperature = 0.0;
  CHECK(candidates(logits, greedy).front().token == 1);
  SamplingParams one;
  one.top_k = 1;
  CHECK(candidates(logits, one).front().token == 1);
  CHECK(likeliest(logits, 9).size() == 4);
  CHECK(likeliest(logits, 2)[1].first == 2);
}

TEST_CASE("the likeliest tokens that reach top_p are the same as if all were put in order",
          "[model]") {
  Random random{5};
  std::vector<float> logits(3000);
  for (auto& x : logits)
    x = static_cast<float>(std::floor(4.0 * random.normal()) / 4.0); // many are equal
  std::vector<std::int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
    return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
  });
  double total = 0.0;
  for (const auto x : logits)
    total += std::exp(static_cast<double>(x));
  for (const double top_p : {1e-9, 0.03, 0.31, 0.6, 0.9, 0.9999}) {
    INFO(top_p);
    SamplingParams params;
    params.top_p = top_p;
    const auto got = candidates(logits, params);
    std::vector<std::int32_t> expected;
    for (double mass = 0.0; mass < top_p * total;) {
      expected.push_back(order[expected.size()]);
      mass += std::exp(static_cast<double>(logits[static_cast<std::size_t>(expected.back())]));
    }
    REQUIRE(got.size() == expected.size());
    double sum = 0.0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      CHECK(got[i].token == expected[i]);
      sum += got[i].probability;
    }
    CHECK(sum == Catch::Approx(1.0));
  }
}

TEST_CASE("a point picks the candidate that covers it", "[model]") {
  const std::vector<Candidate> from{{7, 0.5}, {3, 0.25}, {9, 0.25}};
  CHECK(pick(from, 0.0) == 7);
  CHECK(pick(from, 0.49) == 7);
  CHECK(pick(from, 0.5) == 3);
  CHECK(pick(from, 0.76) == 9);
  CHECK(pick(from, 1.0) == 9); // rounding never runs off the end
}
