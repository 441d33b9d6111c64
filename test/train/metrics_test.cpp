// SPDX-License-Identifier: Apache-2.0
#include "train/metrics.hpp"

#include "test/catch.hpp"

#include <cmath>
#include <numbers>

using namespace tinkaf;
using namespace tinkaf::train;

namespace {

Example example(std::vector<float> weights, std::vector<std::int32_t> bytes) {
  auto result = Example{};
  const auto size = weights.size();
  result.datum.model_input = ModelInput::from_ints(std::vector<Token>(size, 1));
  result.datum.loss_fn_inputs.emplace("target_tokens",
                                      TensorData::of(std::vector<std::int64_t>(size, 1)));
  result.datum.loss_fn_inputs.emplace("weights", TensorData::of(std::move(weights)));
  result.target_bytes = std::move(bytes);
  return result;
}

ForwardBackwardOutput output(std::vector<std::vector<float>> logprobs) {
  auto result = ForwardBackwardOutput{};
  for (auto& values : logprobs)
    result.loss_fn_outputs.push_back({{"logprobs", TensorData::of(std::move(values))}});
  return result;
}

} // namespace

TEST_CASE("A batch's mean loss is over all its weights, not a mean of means", "[train][metrics]") {
  const auto a = example({0, 1, 1}, {3, 2, 0});
  const auto b = example({0.5F}, {4});
  const auto batch = std::vector<const Example*>{&a, &b};
  const auto metrics = measure(batch, output({{-9, -1, -2}, {-4}}));
  REQUIRE(metrics);
  CHECK(metrics->num_sequences == 2);
  CHECK(metrics->num_tokens == 4);
  CHECK(metrics->num_loss_tokens == 3);
  // (1 + 2 + 0.5·4)/(1 + 1 + 0.5)
  CHECK(metrics->train_mean_nll == Catch::Approx(2.0));
  // Without the special token: (1 + 4)/(ln 2 · (2 + 4))
  CHECK(metrics->train_mean_bpb == Catch::Approx(5.0 / (std::numbers::ln2 * 6.0)));
}

TEST_CASE("A batch without weight has no mean loss", "[train][metrics]") {
  const auto a = example({0, 0}, {1, 1});
  const auto batch = std::vector<const Example*>{&a};
  const auto metrics = measure(batch, output({{-1, -1}}));
  REQUIRE(metrics);
  CHECK(std::isnan(metrics->train_mean_nll));
  CHECK(std::isnan(metrics->train_mean_bpb));
}

TEST_CASE("An answer that does not fit the batch is refused", "[train][metrics]") {
  const auto a = example({1, 1}, {1, 1});
  const auto batch = std::vector<const Example*>{&a};
  CHECK(measure(batch, output({})).error().code == Errc::protocol_error);
  CHECK(measure(batch, output({{-1}})).error().code == Errc::protocol_error);
  auto other = output({{-1, -1}});
  other.loss_fn_outputs[0].clear();
  CHECK(measure(batch, other).error().code == Errc::protocol_error);
}

TEST_CASE("A metrics row has the usual keys", "[train][metrics]") {
  auto row
      = StepRow{.step = 3, .epoch = 1, .columns = {{"progress", 0.75}, {"learning_rate", 0.5}}};
  const auto columns = columns_of({2, 10, 4, 1.5, std::nan("")}, {{"grad_norm:mean", 2.0}});
  row.columns.insert(row.columns.end(), columns.begin(), columns.end());
  CHECK(to_json(row)
        == R"({"step":3,"epoch":1,"progress":0.75,"learning_rate":0.5,"num_sequences":2,)"
           R"("num_tokens":10,"num_loss_tokens":4,"train_mean_nll":1.5,"train_mean_bpb":null,)"
           R"("grad_norm:mean":2})");
}
