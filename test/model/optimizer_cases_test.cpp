// SPDX-License-Identifier: Apache-2.0
#include "server/model/kernels.hpp"
#include "test/model/model_fixture.hpp"

#include <limits>

using namespace tinkaf;
using namespace tinkaf::model;

namespace {

AdamParams params_of(const rapidjson::Value& x) {
  AdamParams out;
  out.learning_rate = x["learning_rate"].GetDouble();
  out.beta1 = x["beta1"].GetDouble();
  out.beta2 = x["beta2"].GetDouble();
  out.eps = x["eps"].GetDouble();
  out.weight_decay = x["weight_decay"].GetDouble();
  out.grad_clip_norm = x["grad_clip_norm"].GetDouble();
  return out;
}

/// A vector as long as the adapter's that starts with the given numbers.
std::vector<float> padded(const Adapter& adapter, const std::vector<float>& first) {
  std::vector<float> out(adapter.gradient().size());
  std::copy(first.begin(), first.end(), out.begin());
  return out;
}

} // namespace

TEST_CASE("every optimizer case goes through its steps", "[model]") {
  // The parameters beyond the case's stay zero and have no gradient.
  const auto base = random_model();
  LoraConfig config;
  config.rank = 1;
  config.seed = 1;
  for (const auto& x : numeric_cases()["optim_cases"].GetArray()) {
    INFO(x["id"].GetString());
    auto adapter = Adapter::create(base, config).value();
    adapter.set_parameters(padded(adapter, numbers<float>(x["initial_params"])));
    for (const auto& step : x["steps"].GetArray()) {
      for (const auto& gradient : step["backward_grads"].GetArray())
        adapter.add_gradient(padded(adapter, numbers<float>(gradient)));
      const auto done = optim_step(adapter, params_of(step["effective"]));
      REQUIRE(done);
      const auto& expected = step["expected"];
      CHECK(done->metrics.at("step:max") == expected["step"].GetInt());
      CHECK(done->metrics.at("grad_norm:mean")
            == Catch::Approx(expected["summed_grad_norm_before_clip"].GetDouble()));
      const auto theta = numbers<double>(expected["params"]);
      for (std::size_t i = 0; i < theta.size(); ++i)
        CHECK(adapter.weights().parameters()[i]
              == Catch::Approx(theta[i]).epsilon(1e-6).margin(1e-6));
    }
  }
}

TEST_CASE("a gradient that is not finite changes nothing and is dropped", "[model]") {
  auto adapter = stirred_adapter(random_model());
  const auto before = adapter.weights().parameters();
  auto gradient = std::vector<float>(adapter.gradient().size(), 1.0F);
  gradient[5] = std::numeric_limits<float>::infinity();
  adapter.add_gradient(gradient);
  const auto done = optim_step(adapter, {});
  REQUIRE_FALSE(done);
  CHECK(done.error().code == Errc::request_failed);
  CHECK(holds(done.error(), "NonFiniteInTensor"));
  CHECK(adapter.weights().parameters() == before);
  CHECK(adapter.step_count() == 0);
  CHECK(adapter.gradient() == std::vector<float>(before.size(), 0.0F));
}

TEST_CASE("a step to weights or moments that are not finite fails, and the next one works",
          "[model]") {
  auto adapter = stirred_adapter(random_model());
  auto twin = stirred_adapter(random_model());
  std::vector<float> gradient(adapter.gradient().size(), 1.0F);
  AdamParams params;
  auto category = ErrorCategory::user;
  SECTION("of the user's making") {
    params.learning_rate = 1e30;
    params.weight_decay = 1e30;
  }
  SECTION("since the gradient is too large to be squared") {
    gradient[7] = 1e25F;
    category = ErrorCategory::server;
  }
  adapter.add_gradient(gradient);
  const auto done = optim_step(adapter, params);
  REQUIRE_FALSE(done);
  CHECK(done.error().code == Errc::request_failed);
  CHECK(done.error().category == category);
  CHECK(holds(done.error(), "NonFiniteInTensor"));
  CHECK(adapter.step_count() == 0);
  CHECK(adapter.gradient() == std::vector<float>(gradient.size(), 0.0F));

  const std::vector<float> next(gradient.size(), 0.5F);
  for (auto* x : {&adapter, &twin}) {
    x->add_gradient(next);
    REQUIRE(optim_step(*x, {}));
  }
  CHECK(adapter.weights().parameters() == twin.weights().parameters());
}

TEST_CASE("bad optimizer settings are refused and keep the gradient", "[model]") {
  auto adapter = stirred_adapter(random_model());
  const std::vector<float> gradient(adapter.gradient().size(), 1.0F);
  adapter.add_gradient(gradient);
  AdamParams params;
  params.beta2 = 1.0;
  const auto done = optim_step(adapter, params);
  REQUIRE_FALSE(done);
  CHECK(holds(done.error(), "beta2"));
  CHECK(adapter.gradient() == gradient);
}
