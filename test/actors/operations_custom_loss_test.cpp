// SPDX-License-Identifier: Apache-2.0
#include "actors/training_operations.hpp"
#include "api/wire/json.hpp"
#include "test/catch.hpp"

#include <cmath>

// Rows P, B, BB and M of the table of operations that are arithmetic; those on order and failure
// are in custom_loss_test.cpp.

using namespace tinkaf;
using namespace tinkaf::operations;

namespace {

using Floats = std::vector<float>;
using Ints = std::vector<std::int64_t>;

Datum datum(Ints targets) {
  return {.model_input = ModelInput::from_ints(std::vector<Token>(targets.size(), 7)),
          .loss_fn_inputs = {{"target_tokens", TensorData::of(std::move(targets))}}};
}

FutureValue output(std::vector<Floats> logprobs) {
  ForwardBackwardOutput result{.loss_fn_output_type = "TensorOutput"};
  for (auto& x : logprobs)
    result.loss_fn_outputs.push_back({{"logprobs", TensorData::of(std::move(x))}});
  return result;
}

template <class T>
std::string message(const Result<T>& result, Errc code) {
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == code);
  return result.error().message;
}

bool has(const std::string& text, const std::string& part) {
  UNSCOPED_INFO(text);
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("P1: the parts of a forward pass come back in their order", "[actors][operations]") {
  std::vector<Datum> data{datum({1}), datum({2, 3}), datum({4})};
  auto logprobs = poll_forward_custom_loss({output({{-1}, {-2, -3}}), output({{-4}})}, data);
  REQUIRE(logprobs.has_value());
  CHECK(*logprobs
        == std::vector{TensorData::of(Floats{-1}), TensorData::of(Floats{-2, -3}),
                       TensorData::of(Floats{-4})});
}

TEST_CASE("P5: no parts for no data is nothing", "[actors][operations]") {
  CHECK(poll_forward_custom_loss({}, {}).value().empty());
}

TEST_CASE("A forward pass that gives no usable logprobs is an error that names the datum",
          "[actors][operations]") {
  std::vector<Datum> data{datum({1}), datum({2, 3})};
  CHECK(has(message(poll_forward_custom_loss({output({{-1}})}, data), Errc::protocol_error),
            "1 outputs for 2 data"));
  CHECK(has(message(poll_forward_custom_loss({output({{-1}, {-2}})}, data), Errc::protocol_error),
            "loss_fn_outputs[1].logprobs has shape [1], but must have [2]"));
  ForwardBackwardOutput bare{.loss_fn_outputs = {{}, {}}};
  CHECK(has(message(poll_forward_custom_loss({bare}, data), Errc::protocol_error),
            "loss_fn_outputs[0].logprobs is missing"));
  CHECK(has(message(poll_forward_custom_loss({OptimStepResponse{}}, data), Errc::protocol_error),
            "not that of a training pass"));
}

TEST_CASE("B1: a gradient too few or too many is refused with both numbers",
          "[actors][operations]") {
  std::vector<Datum> data{datum({1}), datum({2})};
  for (std::size_t count : {0, 1, 3})
    CHECK(has(
        message(build_linear_loss_data_safe(data, std::vector(count, TensorData::of(Floats{0}))),
                Errc::invalid_argument),
        std::to_string(count) + " gradients for 2 data"));
}

TEST_CASE("B2: weights are minus the gradients, input and targets stay", "[actors][operations]") {
  std::vector<Datum> data{datum({1, 2, 3})};
  auto linear = build_linear_loss_data_safe(data, {TensorData::of(Floats{0.1F, 0.2F, -0.3F})});
  REQUIRE(linear.has_value());
  REQUIRE((*linear)->size() == 1);
  const auto& made = (*linear)->front();
  CHECK(made.model_input == data[0].model_input);
  CHECK(made.loss_fn_inputs.at("target_tokens") == data[0].loss_fn_inputs.at("target_tokens"));
  CHECK(made.loss_fn_inputs.at("weights") == TensorData::of(Floats{-0.1F, -0.2F, 0.3F}));
}

TEST_CASE("B3: a datum without targets is refused by its index", "[actors][operations]") {
  std::vector<Datum> data{datum({1}), Datum{}};
  CHECK(has(message(build_linear_loss_data_safe(
                        data, {TensorData::of(Floats{0}), TensorData::of(Floats{0})}),
                    Errc::invalid_argument),
            "data[1].loss_fn_inputs.target_tokens is missing"));
}

TEST_CASE("B4: tensors that the gradient replaces are dropped", "[actors][operations]") {
  auto more = datum({1});
  more.loss_fn_inputs["weights"] = TensorData::of(Floats{9});
  more.loss_fn_inputs["advantages"] = TensorData::of(Floats{9});
  auto linear = build_linear_loss_data_safe({more}, {TensorData::of(Floats{2})});
  REQUIRE(linear.has_value());
  CHECK((*linear)->front().loss_fn_inputs.size() == 2);
  CHECK((*linear)->front().loss_fn_inputs.at("weights") == TensorData::of(Floats{-2}));
}

TEST_CASE("B5: a gradient of two dimensions keeps them", "[actors][operations]") {
  auto square = datum({1, 2});
  square.loss_fn_inputs["target_tokens"] = TensorData::of(Ints{1, 2, 3, 4}, {2, 2});
  auto linear = build_linear_loss_data_safe({square}, {TensorData::of(Floats{1, 2, 3, 4}, {2, 2})});
  REQUIRE(linear.has_value());
  CHECK((*linear)->front().loss_fn_inputs.at("weights")
        == TensorData::of(Floats{-1, -2, -3, -4}, {2, 2}));
  auto unshaped = build_linear_loss_data_safe({square}, {TensorData{.data = Floats{1, 2, 3, 4}}});
  REQUIRE(unshaped.has_value());
  CHECK((*unshaped)->front().loss_fn_inputs.at("weights").shape == std::vector<std::int64_t>{2, 2});
}

TEST_CASE("B6: no data and no gradients are an empty batch", "[actors][operations]") {
  CHECK(build_linear_loss_data_safe({}, {}).value()->empty());
}

TEST_CASE("A gradient of a wrong type or shape, or not finite, is refused by its datum",
          "[actors][operations]") {
  std::vector<Datum> data{datum({1, 2}), datum({3, 4})};
  auto good = TensorData::of(Floats{0, 0});
  auto refusal = [&](TensorData gradient) {
    return message(build_linear_loss_data_safe(data, {good, std::move(gradient)}),
                   Errc::invalid_argument);
  };
  CHECK(has(refusal(TensorData::of(Floats{1})), "gradients[1] (of data[1]) has shape [1]"));
  CHECK(has(refusal(TensorData::of(Floats{1, 2}, {1, 2})), "has shape [1, 2], but must have [2]"));
  CHECK(has(refusal(TensorData::of(Ints{1, 2})), "gradients[1] (of data[1]) is int64"));
  CHECK(has(refusal(TensorData::of(Floats{1, std::nanf("")})), "gradients[1] (of data[1])[1] is"));
}

TEST_CASE("BB1: the backward pass is a cross_entropy pass with a gradient, without settings",
          "[actors][operations]") {
  auto linear = build_linear_loss_data_safe({datum({1})}, {TensorData::of(Floats{1})}).value();
  auto call = send_backward_for_custom_loss(BatchSlice::whole(linear), 2,
                                            {.model_id = "m", .protobuf = false});
  REQUIRE(call.has_value());
  CHECK(call->request.path == "/api/v1/forward_backward");
  auto request = wire::from_json<ForwardBackwardRequest>(*call->request.body).value();
  CHECK(request.seq_id == 2);
  CHECK(request.loss_fn == LossFn::cross_entropy);
  CHECK_FALSE(request.loss_fn_config.has_value());
  CHECK_FALSE(request.forward_only);
}

TEST_CASE("M1, M2, M5: metrics of a custom loss are added, and win", "[actors][operations]") {
  auto server = ForwardBackwardOutput{
      .loss_fn_output_type = "t", .metrics = {{"loss", 0.25}}, .hashes = {{"h", 1}}};
  CHECK(merge_custom_metrics(server, {}) == server);
  CHECK(merge_custom_metrics(server, {{"custom_metric", 7}}).metrics
        == Metrics{{"loss", 0.25}, {"custom_metric", 7}});
  CHECK(merge_custom_metrics(server, {{"loss", 9}}).metrics == Metrics{{"loss", 9}});
  auto hash = merge_custom_metrics(server, {{"h", 2}});
  CHECK(hash.metrics.at("h") == 2);
  CHECK(hash.hashes.empty());
}

TEST_CASE(
    "A forward pass sends targets and weights, zeros if there are none, in a batch of our own",
    "[actors][operations]") {
  auto complete = datum({1});
  complete.loss_fn_inputs["weights"] = TensorData::of(Floats{5});
  auto all = make_batch({complete});
  CHECK(forward_data_for_custom_loss(all) == all);
  auto rich = datum({2, 3});
  rich.loss_fn_inputs["advantages"] = TensorData::of(Floats{1, 1});
  auto some = make_batch({complete, rich});
  auto made = forward_data_for_custom_loss(some);
  CHECK(made->at(0) == complete);
  CHECK(made->at(1).loss_fn_inputs.at("weights") == TensorData::of(Floats{0, 0}));
  CHECK(made->at(1).loss_fn_inputs.size() == 2);
  CHECK_FALSE(some->at(1).loss_fn_inputs.contains("weights"));
}
