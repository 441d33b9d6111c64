// SPDX-License-Identifier: Apache-2.0
#include "test/model/model_fixture.hpp"

#include <cmath>

using namespace tinkaf;
using namespace tinkaf::model;

namespace {

/// Loss of `data` at the given parameters.
double loss_at(Adapter& adapter, const std::vector<float>& parameters,
               const std::vector<Datum>& data, LossFn loss_fn, ThreadPool& pool) {
  adapter.set_parameters(parameters);
  return forward_backward(adapter, data, loss_fn, {}, true, pool).value().metrics.at("loss:sum");
}

/// Compares the gradient with central differences along random directions inside each tensor.
void check_gradient(const ModelConfig& config, const std::vector<Datum>& data, LossFn loss_fn) {
  const auto base = random_model(config);
  auto adapter = stirred_adapter(base);
  ThreadPool pool{2};
  REQUIRE(forward_backward(adapter, data, loss_fn, {}, false, pool));
  const auto gradient = adapter.gradient();
  const auto start = adapter.weights().parameters();
  const auto& layout = adapter.weights().layout();
  for (const auto& x : layout.linears)
    for (const auto& [first, size] :
         {std::pair{x.a, layout.rank * x.in}, std::pair{x.b, x.out * layout.rank}}) {
      Random random{mix(5, first)};
      std::vector<float> direction(size);
      double squares = 0.0;
      double expected = 0.0;
      for (std::size_t i = 0; i < size; ++i) {
        direction[i] = static_cast<float>(random.normal());
        squares += static_cast<double>(direction[i]) * direction[i];
        expected += static_cast<double>(direction[i]) * gradient[first + i];
      }
      // A step long enough to rise above float32's rounding of the loss.
      const double step = 0.01 / std::sqrt(squares);
      auto up = start;
      auto down = start;
      for (std::size_t i = 0; i < size; ++i) {
        up[first + i] += static_cast<float>(step * direction[i]);
        down[first + i] -= static_cast<float>(step * direction[i]);
      }
      const double difference = (loss_at(adapter, up, data, loss_fn, pool)
                                 - loss_at(adapter, down, data, loss_fn, pool))
                                / (2.0 * step);
      double norm = 0.0;
      for (std::size_t i = 0; i < size; ++i)
        norm += static_cast<double>(gradient[first + i]) * gradient[first + i];
      INFO(x.name << " at " << first);
      CHECK(norm > 0.0);
      // What a typical direction of this length would give measures the error.
      CHECK(std::fabs(difference - expected) < 0.01 * std::sqrt(norm * squares / size) + 1e-2);
    }
}

std::vector<Datum> two_texts() {
  return {datum_of(random_tokens(20, 1)), datum_of(random_tokens(9, 2))};
}

} // namespace

TEST_CASE("LoRA gradients are those of central differences", "[model]") {
  check_gradient(small_shape(), two_texts(), LossFn::cross_entropy);
}

TEST_CASE("gradients are exact with a tied head and over more than one block of rows", "[model]") {
  auto config = small_shape();
  config.tie_word_embeddings = true;
  check_gradient(config, {datum_of(random_tokens(101, 3))}, LossFn::cross_entropy);
}

TEST_CASE("gradients are exact through the norms of queries and keys", "[model]") {
  auto config = small_shape();
  config.kind = ModelKind::qwen3;
  config.qk_norm = true;
  config.head_dim = 12; // heads together are wider than the stream
  check_gradient(config, two_texts(), LossFn::cross_entropy);
}

TEST_CASE("gradients are exact for a loss with a ratio", "[model]") {
  auto data = two_texts();
  for (auto& datum : data) {
    const auto n = datum.loss_fn_inputs.at("weights").size();
    datum.loss_fn_inputs.erase("weights");
    datum.loss_fn_inputs["logprobs"] = TensorData::of(std::vector<float>(n, -5.5F));
    std::vector<float> advantages(n);
    for (std::size_t i = 0; i < n; ++i)
      advantages[i] = i % 2 == 0 ? 1.0F : -0.5F;
    datum.loss_fn_inputs["advantages"] = TensorData::of(std::move(advantages));
  }
  check_gradient(small_shape(), data, LossFn::importance_sampling);
}
