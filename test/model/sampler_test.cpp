// SPDX-License-Identifier: Apache-2.0
#include "server/model/sampler.hpp"

#include "server/model/prefill.hpp"
#include "server/model/row_products.hpp"
#include "server/model/safetensors.hpp"
#include "server/model/token_choice.hpp"
#include "test/model/model_fixture.hpp"

#include <atomic>
#include <cmath>
#include <memory>
#include <thread>

using namespace tinkaf;
using namespace tinkaf::model;

namespace {

ModelConfig long_shape() {
  auto config = small_shape();
  config.kind = ModelKind::qwen3;
  config.qk_norm = true;
  config.max_position_embeddings = 512;
  config.eos_token_ids = {};
  return config;
}

SampleRequest request_of(std::vector<std::int32_t> prompt, std::int64_t seed, int tokens = 12) {
  SampleRequest out;
  out.prompt = ModelInput::from_ints(std::move(prompt));
  out.sampling_params.seed = seed;
  out.sampling_params.max_tokens = tokens;
  return out;
}

std::shared_ptr<ThreadPool> threads(std::size_t count) {
  return std::make_shared<ThreadPool>(count);
}

/// The answer by a sampler that does nothing else.
SampleResponse alone(const std::shared_ptr<const BaseModel>& base,
                     const std::shared_ptr<const AdapterWeights>& weights,
                     const SampleRequest& request) {
  return Sampler{base, threads(1), {.cache_bytes = 0}}.sample(weights, request).value();
}

/// What a client sees but for the part of the prompt that was remembered.
SampleResponse without_hits(SampleResponse x) {
  x.prompt_cache_hit_tokens = 0;
  return x;
}

} // namespace

TEST_CASE("a sample has the same bits alone and among those of other tenants", "[model]") {
  const auto base = random_model(long_shape());
  std::vector<std::shared_ptr<const AdapterWeights>> weights{nullptr};
  for (const std::uint64_t seed : {3U, 4U})
    weights.push_back(stirred_adapter(base, seed == 3 ? 4 : 8, seed).snapshot());
  std::vector<SampleRequest> requests;
  std::vector<SampleResponse> expected;
  for (std::size_t i = 0; i < 18; ++i) {
    auto request = request_of(random_tokens(3 + 17 * i, i % 5), static_cast<std::int64_t>(i),
                              static_cast<int>(5 + i));
    request.num_samples = static_cast<std::int32_t>(1 + i % 3);
    request.include_prompt_logprobs = i % 4 == 0;
    request.sampling_params.temperature = i % 5 == 0 ? 0.0 : 1.0;
    request.sampling_params.top_p = i % 2 == 0 ? 1.0 : 0.9;
    requests.push_back(request);
    expected.push_back(alone(base, weights[i % 3], request));
  }
  for (const std::size_t helpers : {1U, 3U}) {
    Sampler sampler{base, threads(helpers), {.most_sequences = 16}};
    std::vector<SampleResponse> got(requests.size());
    std::vector<std::thread> tenants;
    for (std::size_t i = 0; i < requests.size(); ++i)
      tenants.emplace_back(
          [&, i] { got[i] = sampler.sample(weights[i % 3], requests[i]).value(); });
    for (auto& tenant : tenants)
      tenant.join();
    for (std::size_t i = 0; i < requests.size(); ++i) {
      INFO(i << " with " << helpers << " threads");
      CHECK(without_hits(got[i]) == expected[i]);
    }
  }
}

TEST_CASE("a large model shares out each product and gives the same bits", "[model]") {
  auto config = long_shape();
  config.hidden_size = 512;
  config.intermediate_size = 1024;
  config.vocab_size = 20'000;
  const auto base = random_model(config);
  REQUIRE(base->layout().size > std::size_t{1} << 24);
  auto request = request_of(random_tokens(90, 1), 5, 4);
  request.num_samples = 5;
  const auto expected = alone(base, nullptr, request);
  Sampler sampler{base, threads(3), {}};
  CHECK(sampler.sample(nullptr, request).value() == expected);
  auto one = request;
  one.num_samples = 1;
  CHECK(sampler.sample(nullptr, one).value().sequences[0] == expected.sequences[0]);
}

TEST_CASE("what is known of a prompt is not read again and gives the same bits", "[model]") {
  const auto base = random_model(long_shape());
  const auto weights = stirred_adapter(base).snapshot();
  Sampler sampler{base, threads(2), {}};
  auto prompt = random_tokens(200, 1);
  const auto first = sampler.sample(weights, request_of(prompt, 1)).value();
  CHECK(first.prompt_cache_hit_tokens == 0);
  const auto again = sampler.sample(weights, request_of(prompt, 1)).value();
  CHECK(again.prompt_cache_hit_tokens == 192);
  CHECK(without_hits(again) == first);

  // Another prompt that begins alike, and one whose last block is known as a whole.
  prompt[150] = (prompt[150] + 1) % 259;
  const auto branch = sampler.sample(weights, request_of(prompt, 1)).value();
  CHECK(branch.prompt_cache_hit_tokens == 128);
  CHECK(without_hits(branch) == alone(base, weights, request_of(prompt, 1)));
  prompt.resize(128);
  const auto whole = sampler.sample(weights, request_of(prompt, 1)).value();
  CHECK(whole.prompt_cache_hit_tokens == 64);
  CHECK(without_hits(whole) == alone(base, weights, request_of(prompt, 1)));

  // Other weights know nothing of it, and log-probabilities of the prompt want all of it read.
  CHECK(sampler.sample(nullptr, request_of(prompt, 1)).value().prompt_cache_hit_tokens == 0);
  auto full = request_of(prompt, 1);
  full.include_prompt_logprobs = true;
  const auto told = sampler.sample(weights, full).value();
  CHECK(told.prompt_cache_hit_tokens == 0);
  CHECK(told == alone(base, weights, full));
}

TEST_CASE("the memory for beginnings of prompts is bounded", "[model]") {
  const auto base = random_model(long_shape());
  const auto block = KeyValueBlock{base->config()}.bytes();
  PrefixCache cache{3 * block};
  Prefill prefill;
  const auto read = [&](const std::vector<std::int32_t>& prompt) {
    KeyValues memory;
    prefill.run(base->view(), base->rope(), prompt, false, [](std::size_t, std::span<float>) {},
                memory, nullptr, {});
    cache.keep(nullptr, prompt, memory);
  };
  const auto a = random_tokens(140, 1);
  const auto b = random_tokens(140, 2);
  read(a);
  CHECK(cache.find(nullptr, a).length == 128);
  read(b);
  CHECK(cache.bytes() == 3 * block);
  CHECK(cache.find(nullptr, b).length == 128);
  CHECK(cache.find(nullptr, a).length < 128);
  PrefixCache none{0};
  CHECK(none.find(nullptr, a).length == 0);
}

TEST_CASE("the log-probabilities of samples are those of training", "[model]") {
  const auto base = random_model(long_shape());
  auto adapter = stirred_adapter(base);
  auto request = request_of(random_tokens(70, 8), 3, 100);
  request.include_prompt_logprobs = true;
  const auto response = Sampler{base, threads(2)}.sample(adapter.snapshot(), request).value();
  auto tokens = random_tokens(70, 8);
  const auto& drawn = response.sequences[0];
  tokens.insert(tokens.end(), drawn.tokens.begin(), drawn.tokens.end());
  ThreadPool pool{1};
  const std::vector<Datum> data{datum_of(tokens)};
  const auto output
      = forward_backward(adapter, data, LossFn::cross_entropy, {}, true, pool).value();
  const auto& trained = logprobs_of(output, 0);
  for (std::size_t i = 0; i < trained.size(); ++i) {
    const float sampled
        = i + 1 < 70 ? *response.prompt_logprobs->at(i + 1) : drawn.logprobs->at(i + 1 - 70);
    CHECK(std::fabs(trained[i] - sampled) < 1e-4F);
  }
}

TEST_CASE("a sample that is asked to stop lets the others go on", "[model]") {
  const auto base = random_model(long_shape());
  Sampler sampler{base, threads(2), {}};
  std::stop_source stop;
  stop.request_stop();
  const auto cancelled = sampler.sample(nullptr, request_of({1, 2, 3}, 1, 300), stop.get_token());
  REQUIRE_FALSE(cancelled);
  CHECK(cancelled.error().code == Errc::cancelled);

  std::stop_source later;
  std::atomic<bool> ended{false};
  std::thread other{[&] {
    const auto response = sampler.sample(nullptr, request_of({4, 5}, 2, 400), later.get_token());
    ended = !response || response->sequences[0].tokens.size() == 400;
  }};
  CHECK(without_hits(sampler.sample(nullptr, request_of({1, 2, 3}, 1)).value())
        == alone(base, nullptr, request_of({1, 2, 3}, 1)));
  later.request_stop();
  other.join();
  CHECK(ended);
}

TEST_CASE("products of few rows have the same bits for any number of them", "[model]") {
  for (const std::size_t in : {5U, 64U, 203U}) {
    const std::size_t out = 301;
    const std::size_t rows = 9;
    Random random{in};
    std::vector<std::uint16_t> packed(in * out);
    std::vector<float> wide(in * out);
    for (std::size_t i = 0; i < wide.size(); ++i) {
      packed[i] = to_bf16(static_cast<float>(random.normal()));
      wide[i] = from_bf16(packed[i]);
    }
    std::vector<float> x(rows * in);
    for (auto& v : x)
      v = static_cast<float>(random.normal());
    std::vector<float> expected(rows * out);
    for (std::size_t r = 0; r < rows; ++r)
      row_products(nullptr, 1, in, out, x.data() + r * in, {wide.data(), nullptr},
                   expected.data() + r * out, out);
    ThreadPool pool{3};
    for (std::size_t n = 1; n <= rows; ++n) {
      std::vector<float> got(rows * out);
      row_products(&pool, n, in, out, x.data(), {nullptr, packed.data()}, got.data(), out);
      CHECK(std::equal(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(n * out),
                       expected.begin()));
    }
    double sum = 0.0;
    for (std::size_t k = 0; k < in; ++k)
      sum += static_cast<double>(x[k]) * wide[300 * in + k];
    CHECK(expected[300] == Catch::Approx(sum).margin(1e-4));
  }
}

TEST_CASE("gradients have the same bits for any number of threads", "[model]") {
  auto config = long_shape();
  config.hidden_size = 256;
  config.intermediate_size = 640;
  const auto base = random_model(config);
  const auto gradient = [&](std::size_t count, std::size_t data) {
    auto adapter = stirred_adapter(base);
    ThreadPool pool{count};
    std::vector<Datum> batch;
    for (std::size_t i = 0; i < data; ++i)
      batch.push_back(datum_of(random_tokens(120 + i, i)));
    const auto output
        = forward_backward(adapter, batch, LossFn::cross_entropy, {}, false, pool).value();
    return std::pair{adapter.gradient(), logprobs_of(output, 0)};
  };
  CHECK(gradient(1, 1) == gradient(4, 1)); // helpers share the products of one sequence
  CHECK(gradient(1, 3) == gradient(4, 3));
  CHECK(gradient(1, 3).second == gradient(2, 1).second); // neighbours do not matter
}

TEST_CASE("a draw without filters covers each token by its share", "[model]") {
  const std::vector<float> logits{std::log(0.5F), -1e30F, std::log(0.25F), std::log(0.25F)};
  const SamplingParams params;
  CHECK(draw(logits, params, 0.0).token == 0);
  CHECK(draw(logits, params, 0.49).token == 0);
  CHECK(draw(logits, params, 0.51).token == 2);
  CHECK(draw(logits, params, 0.76).token == 3);
  CHECK(draw(logits, params, 1.0).token == 3);
  CHECK(draw(logits, params, 0.1).logprob == Catch::Approx(std::log(0.5)));
  SamplingParams cold;
  cold.temperature = 0.5;
  CHECK(draw(logits, cold, 0.1).logprob == tempered_logprob(logits, 0, 0.5));
}
