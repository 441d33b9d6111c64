// SPDX-License-Identifier: Apache-2.0
#include "api/wire/protobuf.hpp"
#include "server/model/random_model.hpp"
#include "test/server/server_fixture.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <future>

using namespace tinkaf;
using namespace tinkaf::test;

// What one client computes does not depend on what others do, and losses are what they are said
// to be, through the whole server.

namespace {

struct Fixture {
  Fixture() {
    REQUIRE(model::write_random_model(folder.path() / "model").has_value());
    auto started = Server::start({.state_dir = folder.path() / "state",
                                  .models = {{.name = "small", .dir = folder.path() / "model"}},
                                  .threads = 2});
    REQUIRE(started.has_value());
    server = std::move(*started);
  }

  TempFolder folder;
  std::unique_ptr<Server> server;
};

Datum text(Token first, std::size_t length) {
  std::vector<Token> input;
  std::vector<std::int64_t> targets;
  for (std::size_t i = 0; i < length; ++i) {
    input.push_back((first + static_cast<Token>(7 * i)) % 250);
    targets.push_back((first + static_cast<Token>(7 * i) + 7) % 250);
  }
  return {.model_input = ModelInput::from_ints(input),
          .loss_fn_inputs = {{"target_tokens", TensorData::of(targets)}}};
}

std::string request(const std::string& model, std::int64_t seq_id, std::vector<Datum> data,
                    LossFn loss_fn = LossFn::cross_entropy,
                    std::optional<LossFnConfig> config = {}) {
  return wire::to_json(
             ForwardBackwardRequest{.model_id = model,
                                    .seq_id = seq_id,
                                    .data = BatchSlice::whole(make_batch(std::move(data))),
                                    .loss_fn = loss_fn,
                                    .loss_fn_config = std::move(config)})
      .value();
}

ForwardBackwardOutput passed(ApiClient& api, const std::string& body) {
  return api.result<ForwardBackwardOutput>(RequestType::forward_backward,
                                           api.submit("forward_backward", body));
}

/// A short training with a sample at its end: every number of it.
struct Course {
  std::vector<double> losses;
  std::vector<std::vector<float>> logprobs;
  std::vector<Token> sampled;

  friend bool operator==(const Course&, const Course&) = default;
};

Course take_course(const Server& server, Token topic) {
  ApiClient api{server};
  const auto session = api.session();
  const auto model = api.model(session, 0, "small");
  Course out;
  std::int64_t seq_id = 0;
  for (int round = 0; round < 3; ++round) {
    auto output = passed(api, request(model, ++seq_id, {text(topic, 20), text(topic + 1, 33)}));
    out.losses.push_back(output.metrics.at("loss:sum"));
    out.logprobs.push_back(*output.loss_fn_outputs.at(1).at("logprobs").floats());
    (void)api.result<OptimStepResponse>(
        RequestType::optim_step,
        api.submit("optim_step",
                   wire::to_json(OptimStepRequest{.model_id = model,
                                                  .seq_id = ++seq_id,
                                                  .adam_params = {.learning_rate = 0.01}})
                       .value()));
  }
  const auto saved = api.result<SaveWeightsForSamplerResponse>(
      RequestType::save_weights_for_sampler,
      api.submit("save_weights_for_sampler",
                 wire::to_json(SaveWeightsForSamplerRequest{
                     .model_id = model, .seq_id = ++seq_id, .sampling_session_seq_id = 0})));
  const auto id = api.submit("asample", sample(*saved.sampling_session_id, 0, 11));
  out.sampled = api.result<SampleResponse>(RequestType::sample, id).sequences.at(0).tokens;
  return out;
}

} // namespace

TEST_CASE_METHOD(Fixture, "A run has the same bits alone and beside other clients at work",
                 "[server][determinism]") {
  const auto alone = take_course(*server, 3);
  CHECK(take_course(*server, 90) != alone); // another topic gives other numbers
  std::atomic<bool> over = false;
  std::vector<std::future<void>> others;
  for (int i = 0; i < 3; ++i)
    others.push_back(std::async(std::launch::async, [&, i] {
      while (!over)
        (void)take_course(*server, static_cast<Token>(20 + 30 * i));
    }));
  auto beside = std::async(std::launch::async, [&] { return take_course(*server, 3); });
  beside.wait();
  over = true;
  for (auto& other : others)
    other.get();
  CHECK(beside.get() == alone);
}

TEST_CASE_METHOD(Fixture, "Adapters that are trained in turns do not touch each other",
                 "[server][determinism]") {
  ApiClient api{*server};
  const auto session = api.session();
  const auto first = api.model(session, 0, "small");
  const auto second = api.model(session, 1, "small");
  const auto loss = [&](const std::string& model, std::int64_t seq_id, Token topic) {
    return passed(api, request(model, seq_id, {text(topic, 16)})).metrics.at("loss:sum");
  };
  const auto untrained = loss(second, 1, 40);
  for (int i = 0; i < 4; ++i) {
    (void)loss(first, 2 * i + 1, 3);
    (void)api.result<OptimStepResponse>(RequestType::optim_step,
                                        api.submit("optim_step", step(first, 2 * i + 2)));
  }
  CHECK(loss(first, 9, 40) != untrained);
  CHECK(loss(second, 2, 40) == untrained);
}

TEST_CASE_METHOD(Fixture, "The likeliest tokens of each position come with a pass, where asked for",
                 "[server][losses]") {
  ApiClient api{*server};
  const auto model = api.model(api.session(), 0, "small");
  const auto datum = text(5, 9);
  const auto ask = [&](std::int64_t seq_id, double k) {
    return request(model, seq_id, {datum}, LossFn::cross_entropy,
                   LossFnConfig{{"topk_logprobs", k}});
  };
  const auto output = passed(api, ask(1, 3)).loss_fn_outputs.at(0);
  const auto& tokens = output.at("topk_tokens");
  CHECK(tokens.shape == std::vector<std::int64_t>{9, 3});
  const auto& top = *output.at("topk_logprobs").floats();
  const auto& ids = std::get<std::vector<std::int64_t>>(tokens.data);
  const auto& logprobs = *output.at("logprobs").floats();
  for (std::size_t i = 0; i < 9; ++i) {
    CHECK(top[3 * i] >= top[3 * i + 1]);
    CHECK(top[3 * i + 1] >= top[3 * i + 2]);
    CHECK(logprobs[i] <= top[3 * i]);
    CHECK(ids[3 * i] != ids[3 * i + 1]);
  }
  CHECK(passed(api, ask(2, 0)).loss_fn_outputs.at(0).size() == 1);
  const auto refused = api.post("forward_backward", ask(3, 129));
  CHECK(refused.status == 400);
  CHECK(
      refused.body.find("loss_fn_config.topk_logprobs: is 129, must be a whole number in [0, 128]")
      != std::string::npos);
}

TEST_CASE_METHOD(Fixture,
                 "A step tells the norm of each gradient, where the model's notes ask for it",
                 "[server][losses]") {
  ApiClient api{*server};
  const auto session = api.session();
  CreateModelRequest create{.session_id = session, .model_seq_id = 0, .base_model = "small"};
  create.lora_config = LoraConfig{.rank = 4, .seed = 1};
  create.user_metadata = {{"grad_norms", "per_tensor"}};
  const auto model
      = api.result<CreateModelResponse>(RequestType::create_model,
                                        api.submit("create_model", wire::to_json(create)))
            .model_id;
  const auto metrics_of = [&](const std::string& id) {
    (void)passed(api, request(id, 1, {text(5, 9)}));
    return api
        .result<OptimStepResponse>(RequestType::optim_step, api.submit("optim_step", step(id, 2)))
        .metrics;
  };
  const auto told = metrics_of(model);
  CHECK(told.contains("grad_norm/model.layers.0.self_attn.q_proj.lora_B.weight:mean"));
  double sum = 0.0;
  for (const auto& [name, value] : told) {
    CHECK(std::count(name.begin(), name.end(), ':') == 1);
    if (name.starts_with("grad_norm/"))
      sum += value * value;
  }
  CHECK(std::abs(std::sqrt(sum) - told.at("grad_norm:mean")) < 1e-5 * told.at("grad_norm:mean"));
  for (const auto& [name, value] : metrics_of(api.model(session, 1, "small")))
    CHECK_FALSE(name.starts_with("grad_norm/"));
}

TEST_CASE_METHOD(Fixture, "Every loss is the sum of its formula over the model's logprobs",
                 "[server][losses]") {
  ApiClient api{*server};
  const auto model = api.model(api.session(), 0, "small");
  const auto plain = text(5, 24);
  const auto logprobs
      = *passed(api, request(model, 1, {plain})).loss_fn_outputs.at(0).at("logprobs").floats();
  std::vector<float> q;
  std::vector<float> advantages;
  std::vector<float> weights;
  for (std::size_t i = 0; i < logprobs.size(); ++i) {
    q.push_back(logprobs[i] + 0.1F * static_cast<float>(static_cast<int>(i % 9) - 4));
    advantages.push_back(static_cast<float>(static_cast<int>(i % 5) - 2) * 0.75F);
    weights.push_back(static_cast<float>(static_cast<int>(i % 4) - 1) * 0.5F);
  }
  auto weighted = plain;
  weighted.loss_fn_inputs["weights"] = TensorData::of(weights);
  auto rewarded = plain;
  rewarded.loss_fn_inputs["logprobs"] = TensorData::of(q);
  rewarded.loss_fn_inputs["advantages"] = TensorData::of(advantages);

  struct Case {
    LossFn loss_fn;
    std::optional<LossFnConfig> config;
    std::function<double(double lp, double q, double a, double w)> formula;
  };
  const auto clip = [](double r, double low, double high) { return std::clamp(r, low, high); };
  const std::vector<Case> cases{
      {LossFn::cross_entropy, {}, [](double lp, double, double, double w) { return -w * lp; }},
      {LossFn::importance_sampling,
       {},
       [](double lp, double old, double a, double) { return -std::exp(lp - old) * a; }},
      {LossFn::ppo,
       {},
       [&](double lp, double old, double a, double) {
         const auto r = std::exp(lp - old);
         return -std::min(r * a, clip(r, 0.8, 1.2) * a);
       }},
      {LossFn::ppo, LossFnConfig{{"clip_high_threshold", 1.05}},
       [&](double lp, double old, double a, double) {
         const auto r = std::exp(lp - old);
         return -std::min(r * a, clip(r, 0.8, 1.05) * a);
       }},
      {LossFn::cispo, LossFnConfig{{"clip_low_threshold", 0.9}, {"clip_high_threshold", 1.1}},
       [&](double lp, double old, double a, double) {
         return -clip(std::exp(lp - old), 0.9, 1.1) * lp * a;
       }},
      {LossFn::dro, LossFnConfig{{"beta", 0.3}},
       [](double lp, double old, double a, double) {
         return -(lp * a - 0.15 * (lp - old) * (lp - old));
       }},
  };
  std::int64_t seq_id = 1;
  for (const auto& one : cases) {
    double expected = 0.0;
    for (std::size_t i = 0; i < logprobs.size(); ++i)
      expected += one.formula(static_cast<double>(logprobs[i]), static_cast<double>(q[i]),
                              static_cast<double>(advantages[i]), static_cast<double>(weights[i]));
    INFO(to_string(one.loss_fn));
    const auto& data = one.loss_fn == LossFn::cross_entropy ? weighted : rewarded;
    const auto loss = passed(api, request(model, ++seq_id, {data, data}, one.loss_fn, one.config))
                          .metrics.at("loss:sum");
    CHECK(std::abs(loss - 2 * expected) <= 1e-6 * (1 + std::abs(expected)));
  }
}
