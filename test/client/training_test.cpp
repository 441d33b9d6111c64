// SPDX-License-Identifier: Apache-2.0
#include "client/training_client.hpp"
#include "losses/formula.hpp"
#include "test/client/local_service.hpp"

#include <cmath>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>

using namespace std::chrono_literals;
using namespace tinkaf;

// Training through the façade against the local server over a real socket.

namespace {

constexpr auto limit = 60s;

using Fixture = test::LocalService;
using Floats = std::vector<float>;

const std::vector<Floats> weights{{1, 0.5F, -0.25F, 2}, {0, 1, 1}};

Batch batch() {
  return make_batch(
      {Datum{.model_input = ModelInput::from_ints({10, 40, 41, 42}),
             .loss_fn_inputs
             = {{"target_tokens", TensorData::of(std::vector<std::int64_t>{40, 41, 42, 43})},
                {"weights", TensorData::of(weights[0])}}},
       Datum{.model_input = ModelInput::from_ints({10, 50, 51}),
             .loss_fn_inputs
             = {{"target_tokens", TensorData::of(std::vector<std::int64_t>{50, 51, 52})},
                {"weights", TensorData::of(weights[1])}}}});
}

/// Cross-entropy as a custom loss: C = Σ -w · logprob.
Result<CustomLossValue> cross_entropy(const CustomLossInput& input) {
  CustomLossValue value;
  for (std::size_t i = 0; i < input.data.size(); ++i) {
    const auto& w = *input.data[i].loss_fn_inputs.at("weights").floats();
    const auto& logprobs = *input.logprobs[i].floats();
    Floats gradient;
    for (std::size_t k = 0; k < w.size(); ++k) {
      value.loss -= static_cast<double>(w[k]) * logprobs[k];
      gradient.push_back(-w[k]);
    }
    value.gradients.push_back(TensorData::of(std::move(gradient)));
  }
  return value;
}

/// Pulls every log-probability towards -1: C = Σ (logprob + 1)² / 2.
Result<CustomLossValue> towards_minus_one(const CustomLossInput& input) {
  CustomLossValue value;
  for (const auto& logprobs : input.logprobs) {
    Floats gradient;
    for (auto x : *logprobs.floats()) {
      value.loss += 0.5 * (x + 1.0) * (x + 1.0);
      gradient.push_back(x + 1.0F);
    }
    value.gradients.push_back(TensorData::of(std::move(gradient)));
  }
  return value;
}

double loss_of(const TrainingClient& client) {
  auto output = client.forward(batch()).get(limit);
  REQUIRE(output.has_value());
  return output->metrics.at("loss:sum");
}

} // namespace

TEST_CASE_METHOD(Fixture, "A custom loss that is cross-entropy moves the weights just like it",
                 "[client][custom_loss][end-to-end]") {
  auto service = connect();
  auto plain = train(service);
  auto custom = train(service);
  REQUIRE(loss_of(plain) == loss_of(custom));
  const auto step = AdamParams{.learning_rate = 1e-2};

  (void)plain.forward_backward(batch());
  REQUIRE(plain.optim_step(step).get(limit).has_value());
  auto output = custom.forward_backward_custom(batch(), cross_entropy);
  REQUIRE(custom.optim_step(step).get(limit).has_value()); // submitted before the loss was computed
  REQUIRE(output.get(limit).has_value());
  CHECK(output.get()->metrics.at("custom_loss")
        == Catch::Approx(output.get()->metrics.at("loss:sum")));

  CHECK(loss_of(plain) == loss_of(custom));
}

TEST_CASE_METHOD(Fixture, "A custom loss goes down", "[client][custom_loss][end-to-end]") {
  auto client = train(connect());
  std::optional<double> first;
  double last = 0;
  for (int i = 0; i < 8; ++i) {
    auto output = client.forward_backward_custom(batch(), towards_minus_one);
    auto step = client.optim_step({.learning_rate = 1e-2});
    REQUIRE(output.get(limit).has_value());
    REQUIRE(step.get(limit).has_value());
    last = output.get()->metrics.at("custom_loss");
    first = first.value_or(last);
  }
  CHECK(last < 0.8 * *first);
}

TEST_CASE_METHOD(Fixture, "A custom loss that fails leaves model and client as they were",
                 "[client][custom_loss][errors]") {
  auto client = train(connect());
  auto before = loss_of(client);
  auto threw = client.forward_backward_custom(
      batch(), [](const CustomLossInput&) -> Result<CustomLossValue> {
        throw std::runtime_error{"out of patience"};
      });
  auto wrong = client.forward_backward_custom(
      batch(), [](const CustomLossInput& input) -> Result<CustomLossValue> {
        return CustomLossValue{.gradients = {input.logprobs.begin(), input.logprobs.end() - 1}};
      });
  auto step = client.optim_step({.learning_rate = 1e-2});
  REQUIRE_FALSE(threw.get(limit).has_value());
  CHECK(threw.get().error().message.find("out of patience") != std::string::npos);
  REQUIRE_FALSE(wrong.get(limit).has_value());
  CHECK(wrong.get().error().message.find("1 gradients for 2 data") != std::string::npos);
  REQUIRE(step.get(limit).has_value());
  CHECK(loss_of(client) == before); // the step had no gradient
}

TEST_CASE_METHOD(Fixture, "A client that ends asks its custom loss to stop and waits for it",
                 "[client][custom_loss][shutdown]") {
  std::promise<void> running;
  bool stopped = false;
  std::optional<Future<ForwardBackwardOutput>> late;
  {
    auto client = train(connect());
    late = client.forward_backward_custom(
        batch(), [&](const CustomLossInput& input) -> Result<CustomLossValue> {
          running.set_value();
          while (!input.stop.stop_requested())
            std::this_thread::yield();
          stopped = true;
          return fail(Errc::cancelled, "asked to stop");
        });
    REQUIRE(running.get_future().wait_for(limit) == std::future_status::ready);
  }
  CHECK(stopped);
  REQUIRE(late->ready());
  CHECK(late->get().error().code == Errc::cancelled);
}

TEST_CASE_METHOD(Fixture, "A custom loss that ignores its stop does not hold the client's end up",
                 "[client][custom_loss][shutdown]") {
  auto running = std::make_shared<std::promise<void>>();
  auto release = std::make_shared<std::promise<void>>();
  auto ended = std::make_shared<std::promise<void>>();
  {
    auto client = train(connect());
    (void)client.forward_backward_custom(batch(),
                                         [running, released = release->get_future().share(), ended](
                                             const CustomLossInput&) -> Result<CustomLossValue> {
                                           running->set_value();
                                           released.wait();
                                           ended->set_value();
                                           return CustomLossValue{};
                                         });
    REQUIRE(running->get_future().wait_for(limit) == std::future_status::ready);
  }
  release->set_value(); // only behind the client's end, which has not waited for it
  CHECK(ended->get_future().wait_for(limit) == std::future_status::ready);
}

TEST_CASE_METHOD(Fixture,
                 "I1, I2: a batch beyond one request comes back whole, and training goes on",
                 "[client][training][end-to-end]") {
  auto client = train(connect());
  auto one
      = Datum{.model_input = ModelInput::from_ints({10}),
              .loss_fn_inputs = {{"target_tokens", TensorData::of(std::vector<std::int64_t>{40})},
                                 {"weights", TensorData::of(Floats{1})}}};
  auto single = client.forward(make_batch({one})).get(limit);
  REQUIRE(single.has_value());
  auto many = client.forward_backward(std::vector<Datum>(1'025, one));
  auto step = client.optim_step();
  auto saved = client.save_weights_for_sampler("after");
  REQUIRE(many.get(limit).has_value());
  CHECK(many.get()->loss_fn_outputs.size() == 1'025);
  CHECK(many.get()->metrics.at("loss:sum")
        == Catch::Approx(1'025 * single->metrics.at("loss:sum")));
  CHECK(step.get(limit).has_value());
  CHECK(saved.get(limit).has_value());
}

TEST_CASE_METHOD(Fixture, "I7, I8: a model tells what it is, and is freed, also twice",
                 "[client][training][end-to-end]") {
  auto client = train(connect());
  auto info = client.get_info().get(limit);
  REQUIRE(info.has_value());
  CHECK(info->model_id == client.model_id());
  CHECK(info->model_name == "tiny");
  CHECK(info->lora_rank == 4);
  auto unloaded = client.unload().get(limit);
  REQUIRE(unloaded.has_value());
  CHECK(unloaded->model_id == client.model_id());
  CHECK(client.unload().get(limit).has_value());
  auto later = client.forward(batch()).get(limit);
  REQUIRE_FALSE(later.has_value());
  CHECK(later.error().message.find("unloaded") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "I6: what is wrong is refused before it is sent, and takes no number",
                 "[client][training][errors]") {
  auto client = train(connect());
  auto broken = *batch();
  broken[1].loss_fn_inputs["weights"] = TensorData::of(Floats{1});
  auto refused = client.forward_backward(broken).get(limit);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().attempts == 0);
  CHECK(refused.error().message.find("data[1].loss_fn_inputs.weights") != std::string::npos);
  CHECK_FALSE(client.forward_backward(make_batch({})).get(limit).has_value());
  CHECK_FALSE(client.forward(batch(), LossFn::cross_entropy, LossFnConfig{{"beta", 1}})
                  .get(limit)
                  .has_value());
  CHECK_FALSE(client.optim_step({.beta1 = 1}).get(limit).has_value());
  CHECK_FALSE(client.save_state("").get(limit).has_value());
  CHECK_FALSE(client.save_state("a", {.ttl = 0s}).get(limit).has_value());
  CHECK_FALSE(client.load_state("tinker://run/sampler_weights/a").get(limit).has_value());
  // The server waits for a number that is missing: that this is answered shows that none is.
  CHECK(client.forward(batch()).get(limit).has_value());
}

TEST_CASE_METHOD(Fixture, "A checkpoint is loaded on the base that is asked for",
                 "[client][training][end-to-end]") {
  auto service = connect();
  auto client = train(service);
  (void)client.forward_backward(batch());
  (void)client.optim_step({.learning_rate = 1e-2});
  auto saved = client.save_state("one").get(limit);
  REQUIRE(saved.has_value());
  auto same = service.create_training_client_from_state(
      CreateTrainingClientFromState{.path = saved->path, .base_model = "tiny"});
  REQUIRE(same.has_value());
  CHECK(loss_of(*same) == loss_of(client));
  auto other = service.create_training_client_from_state(
      CreateTrainingClientFromState{.path = saved->path, .base_model = "no-such-model"});
  REQUIRE_FALSE(other.has_value());
  CHECK(other.error().message.find("no-such-model") != std::string::npos);
  auto wrong = service.create_training_client_from_state("tinker://run/sampler_weights/one");
  REQUIRE_FALSE(wrong.has_value());
  CHECK(wrong.error().message.find("to sample from") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "A save to sample from under a taken name is told to take another",
                 "[client][training][errors]") {
  auto client = train(connect());
  REQUIRE(client.save_weights_for_sampler("a").get(limit).has_value());
  auto again = client.save_weights_for_sampler("a").get(limit);
  REQUIRE_FALSE(again.has_value());
  INFO(again.error().message);
  CHECK(again.error().code == Errc::conflict);
  CHECK(again.error().message.find("another name") != std::string::npos);
  CHECK(again.error().message.find("overwrite") == std::string::npos); // it knows no such thing
  REQUIRE(client.save_state("a").get(limit).has_value());
  auto state = client.save_state("a").get(limit);
  REQUIRE_FALSE(state.has_value());
  CHECK(state.error().message.find("`overwrite`") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "A formula that fails is told in one breath", "[client][custom_loss]") {
  auto client = train(connect());
  auto failed = client.forward_backward_custom(batch(), losses::custom_loss({})).get(limit);
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.error().message == "the custom loss failed: there is no formula");
}
