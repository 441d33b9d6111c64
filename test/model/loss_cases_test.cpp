// SPDX-License-Identifier: Apache-2.0
#include "server/model/losses.hpp"
#include "test/model/model_fixture.hpp"

using namespace tinkaf;
using namespace tinkaf::model;

namespace {

LossInputs inputs_of(const Datum& datum, LossFn loss_fn) {
  const auto positions
      = static_cast<std::size_t>((*datum.loss_fn_inputs.at("target_tokens").shape)[0]);
  auto read = read_loss_inputs(datum, loss_fn, positions, 1000, "datum");
  if (!read)
    FAIL(read.error().message);
  return std::move(*read);
}

} // namespace

TEST_CASE("every loss case gives its losses and gradients", "[model]") {
  for (const auto& x : numeric_cases()["loss_cases"].GetArray()) {
    INFO(x["id"].GetString());
    const auto loss_fn = parse_loss_fn(x["loss_fn"].GetString()).value();
    const auto settings = loss_settings(loss_fn, config_of(x["loss_fn_config"])).value();
    double sum = 0.0;
    for (const auto& datum : x["datums"].GetArray()) {
      const auto inputs = inputs_of(datum_of_case(datum["loss_fn_inputs"]), loss_fn);
      const auto logprobs = numbers<double>(datum["model_logprobs"]);
      const auto losses = numbers<double>(datum["expected"]["token_loss"]);
      const auto gradients = numbers<double>(datum["expected"]["dloss_dlogprob"]);
      REQUIRE(inputs.targets.size() == logprobs.size());
      for (std::size_t i = 0; i < logprobs.size(); ++i) {
        const auto got = token_loss(loss_fn, settings, inputs, i, logprobs[i]);
        CHECK(got.loss == nearly(losses[i]));
        CHECK(got.gradient == nearly(gradients[i]));
        sum += got.loss;
      }
    }
    CHECK(sum == nearly(x["expected"]["metrics"]["loss:sum"].GetDouble()));
  }
}

TEST_CASE("custom losses come back through the weights", "[model]") {
  for (const auto& x : numeric_cases()["custom_cases"].GetArray()) {
    INFO(x["id"].GetString());
    double sum = 0.0;
    for (rapidjson::SizeType d = 0; d < x["model_logprobs"].Size(); ++d) {
      const auto logprobs = numbers<double>(x["model_logprobs"][d]);
      const auto gradients = numbers<double>(x["expected"]["dloss_dlogprob"][d]);
      LossInputs inputs;
      inputs.weights = numbers<float>(x["expected"]["weights_sent"][d]);
      for (std::size_t i = 0; i < logprobs.size(); ++i) {
        const auto got = token_loss(LossFn::cross_entropy, {}, inputs, i, logprobs[i]);
        CHECK(got.gradient == nearly(gradients[i]));
        sum += got.loss;
      }
    }
    CHECK(sum == nearly(x["expected"]["server_loss:sum"].GetDouble()));
  }
}

TEST_CASE("sparse weights mean the same as dense ones", "[model]") {
  Datum datum;
  datum.loss_fn_inputs["target_tokens"]
      = TensorData::of(std::vector<std::int64_t>{4, 9, 1, 2, 7, 0}, {2, 3});
  TensorData sparse;
  sparse.data = std::vector<float>{0.5F, 0.25F, 1.0F};
  sparse.shape = {2, 3};
  sparse.sparse = CsrIndices{{0, 2, 3}, {0, 2, 1}};
  datum.loss_fn_inputs["weights"] = sparse;
  CHECK(inputs_of(datum, LossFn::cross_entropy).weights
        == std::vector<float>{0.5F, 0.0F, 0.25F, 0.0F, 1.0F, 0.0F});
}

TEST_CASE("an advantage of zero silences even an infinite ratio", "[model]") {
  LossInputs inputs;
  inputs.logprobs = {-3e38F};
  inputs.advantages = {0.0F};
  for (const auto loss_fn : {LossFn::importance_sampling, LossFn::ppo, LossFn::cispo}) {
    const auto got = token_loss(loss_fn, {}, inputs, 0, -1.0);
    CHECK(got.loss == 0.0);
    CHECK(got.gradient == 0.0);
  }
}

TEST_CASE("bad loss settings are refused by key and value", "[model]") {
  const auto refusal = [](LossFn loss_fn, LossFnConfig config) {
    const auto good = check_loss_config(loss_fn, config);
    REQUIRE_FALSE(good);
    CHECK(good.error().code == Errc::invalid_argument);
    return good.error();
  };
  CHECK(holds(refusal(LossFn::ppo, {{"clip", 0.2}}), "loss_fn_config.clip: unknown"));
  CHECK(holds(refusal(LossFn::cross_entropy, {{"beta", 0.2}}), "takes no settings"));
  CHECK(holds(refusal(LossFn::dro, {{"beta", -1.0}}), "loss_fn_config.beta: is -1"));
  CHECK(holds(refusal(LossFn::cispo, {{"clip_low_threshold", 1.5}}), "clip_low_threshold: is 1.5"));
  CHECK(check_loss_config(LossFn::ppo, LossFnConfig{{"clip_high_threshold", 1.5}}));
}
