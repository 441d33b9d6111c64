// SPDX-License-Identifier: Apache-2.0
#include "losses/policy_losses.hpp"

#include "test/losses/batch.hpp"

#include <rapidjson/document.h>

#include <fstream>
#include <iterator>
#include <limits>

using namespace tinkaf;
using namespace tinkaf::losses;

namespace {

using Json = rapidjson::Value;

/// Numbers of losses and their gradients; inputs are exact in float32, results in double precision.
const rapidjson::Document& cases() {
  static const auto document = [] {
    std::ifstream in{TINKAF_TEST_DATA "/loss-cases.json"};
    REQUIRE(in);
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    rapidjson::Document out;
    out.Parse(text.c_str());
    REQUIRE_FALSE(out.HasParseError());
    return out;
  }();
  return document;
}

template <class T>
std::vector<T> numbers(const Json& x) {
  std::vector<T> out;
  for (const auto& number : x.GetArray())
    out.push_back(static_cast<T>(number.GetDouble()));
  return out;
}

TensorData tensor_of(const Json& x) {
  auto shape = numbers<std::int64_t>(x["shape"]);
  if (std::string{x["dtype"].GetString()} == "int64")
    return TensorData::of(numbers<std::int64_t>(x["data"]), std::move(shape));
  return TensorData::of(numbers<float>(x["data"]), std::move(shape));
}

TestBatch batch_of(const Json& datums) {
  TestBatch out;
  for (const auto& datum : datums.GetArray()) {
    out.data.emplace_back();
    for (const auto& field : datum["loss_fn_inputs"].GetObject())
      out.data.back().loss_fn_inputs[field.name.GetString()] = tensor_of(field.value);
    out.logprobs.push_back(
        TensorData::of(numbers<float>(datum["model_logprobs"]),
                       *out.data.back().loss_fn_inputs.at("target_tokens").shape));
  }
  return out;
}

Formula formula_of(const std::string& name, const Json& config) {
  const auto clip = [&] {
    return ClipThresholds{config["clip_low_threshold"].GetDouble(),
                          config["clip_high_threshold"].GetDouble()};
  };
  if (name == "cross_entropy")
    return cross_entropy;
  if (name == "importance_sampling")
    return importance_sampling;
  if (name == "ppo")
    return ppo(clip()).value();
  if (name == "cispo")
    return cispo(clip()).value();
  return dro(config["beta"].GetDouble()).value();
}

} // namespace

TEST_CASE("the service's losses as formulas give its values and gradients", "[losses]") {
  std::size_t seen = 0;
  for (const auto& x : cases()["loss_cases"].GetArray()) {
    INFO(x["id"].GetString());
    ++seen;
    const auto batch = batch_of(x["datums"]);
    const auto formula = formula_of(x["loss_fn"].GetString(), x["effective_config"]);
    CHECK(value_at(batch.scalar(formula), batch.points())
          == Catch::Approx(x["expected"]["metrics"]["loss:sum"].GetDouble()).epsilon(1e-12));
    Points expected;
    for (const auto& datum : x["datums"].GetArray())
      expected.push_back(numbers<double>(datum["expected"]["dloss_dlogprob"]));
    check_close(gradient_at(batch.scalar(formula), batch.points()), expected, 1e-12);
    CHECK(batch.run(formula));
  }
  CHECK(seen >= 14);
}

TEST_CASE("custom losses written as formulas give the gradients that are known", "[losses]") {
  const std::map<std::string, Formula> formulas{
      {"custom-square",
       [](const FormulaInput& input) -> FormulaValue {
         return {.loss = sum(square(join(input.logprobs)))};
       }},
      {"custom-pairwise",
       [](const FormulaInput& input) -> FormulaValue {
         return {.loss = -log_sigmoid(0.5 * (sum(input.logprobs[0]) - sum(input.logprobs[1])))};
       }},
  };
  for (const auto& x : cases()["custom_cases"].GetArray()) {
    INFO(x["id"].GetString());
    TestBatch batch;
    Points expected;
    for (rapidjson::SizeType i = 0; i < x["model_logprobs"].Size(); ++i) {
      batch.add(numbers<float>(x["model_logprobs"][i]));
      expected.push_back(numbers<double>(x["expected"]["dloss_dlogprob"][i]));
    }
    const auto& formula = formulas.at(x["id"].GetString());
    const auto value = batch.run(formula);
    REQUIRE(value);
    CHECK(value->loss == Catch::Approx(x["expected"]["custom_loss"].GetDouble()).epsilon(1e-12));
    check_close(gradient_at(batch.scalar(formula), batch.points()), expected, 1e-12);
  }
}

TEST_CASE("policy losses have the gradients of central differences", "[losses]") {
  TestBatch batch;
  batch.add({-0.5F, -0.75F, -2.0F}, 1,
            {{"logprobs", {-1.0F, -0.75F, -1.0F}}, {"advantages", {1.0F, -2.0F, 0.5F}}});
  batch.add({-0.25F}, 1, {{"logprobs", {-0.5F}}, {"advantages", {-1.0F}}});
  check_formula(cross_entropy, batch);
  check_formula(importance_sampling, batch);
  check_formula(ppo().value(), batch);
  check_formula(dro(0.5).value(), batch);
}

TEST_CASE("ppo says how many ratios are out of bounds", "[losses]") {
  TestBatch batch;
  batch.add({-0.5F, -0.5F, -0.5F}, 1,
            {{"logprobs", {-1.0F, -0.5F, -9.0F}}, {"advantages", {1.0F, 1.0F, 0.0F}}});
  CHECK(batch.run(*ppo())->metrics.at("clip_fraction") == 0.5);
}

TEST_CASE("an advantage of zero silences even an infinite ratio in a formula", "[losses]") {
  TestBatch batch;
  batch.add({-1.0F, -1.0F}, 1, {{"logprobs", {-3e38F, -1.0F}}, {"advantages", {0.0F, 2.0F}}});
  for (const auto& formula : {Formula{importance_sampling}, *ppo(), *cispo()}) {
    const auto value = batch.run(formula);
    REQUIRE(value);
    CHECK(std::isfinite(value->loss));
    CHECK(value->gradients[0].floats()->at(0) == 0.0F);
  }
}

TEST_CASE("bad settings of policy losses are refused by name and value", "[losses]") {
  CHECK(ppo({-0.1, 1.2}).error().message
        == "ppo: clip_low_threshold is -0.1, must be a number from 0 on");
  CHECK(holds(cispo({0.8, 0.5}).error().message, "cispo: clip_high_threshold is 0.5"));
  CHECK(holds(dro(std::numeric_limits<double>::quiet_NaN()).error().message, "beta is nan"));
  CHECK(ppo({1.0, 1.0}));
}
