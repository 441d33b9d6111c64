// SPDX-License-Identifier: Apache-2.0
#include "api/batch_check.hpp"

#include "test/catch.hpp"

#include <cmath>
#include <limits>

using namespace tinkaf;

namespace {

using Floats = std::vector<float>;
using Ints = std::vector<std::int64_t>;

Datum good_datum() {
  return {.model_input = ModelInput::from_ints({1, 2}),
          .loss_fn_inputs = {{"target_tokens", TensorData::of(Ints{2, 3})},
                             {"weights", TensorData::of(Floats{1, 1})}}};
}

Datum good_rl_datum() {
  return {.model_input = ModelInput::from_ints({1, 2}),
          .loss_fn_inputs = {{"target_tokens", TensorData::of(Ints{2, 3})},
                             {"logprobs", TensorData::of(Floats{-1, -2})},
                             {"advantages", TensorData::of(Floats{1, -1})}}};
}

/// What is said of a batch whose second datum is `datum`.
std::string refusal(Datum datum, LossFn loss_fn = LossFn::cross_entropy) {
  auto first = loss_fn == LossFn::cross_entropy ? good_datum() : good_rl_datum();
  auto result
      = check_batch({.data = make_batch({std::move(first), std::move(datum)}), .loss_fn = loss_fn});
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == Errc::invalid_argument);
  CHECK(result.error().category == ErrorCategory::user);
  return result.error().message;
}

std::string refusal(LossFn loss_fn, LossFnConfig config) {
  auto result = check_loss_fn_config(loss_fn, std::move(config));
  REQUIRE_FALSE(result.has_value());
  return result.error().message;
}

Datum with(const std::string& name, TensorData tensor, Datum datum = good_datum()) {
  datum.loss_fn_inputs[name] = std::move(tensor);
  return datum;
}

bool says(const std::string& text, const std::string& part) {
  UNSCOPED_INFO(text);
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("A good batch of each loss passes", "[api][batch_check]") {
  CHECK(check_batch({.data = make_batch({good_datum()})}).has_value());
  auto loss_fn = GENERATE(LossFn::importance_sampling, LossFn::ppo, LossFn::cispo, LossFn::dro);
  CHECK(check_batch({.data = make_batch({good_rl_datum()}), .loss_fn = loss_fn}).has_value());
}

TEST_CASE("Weights may be missing, fractional, negative and zero", "[api][batch_check]") {
  auto bare = good_datum();
  bare.loss_fn_inputs.erase("weights");
  CHECK(check_datum(bare, LossFn::cross_entropy, 0).has_value());
  CHECK(check_datum(with("weights", TensorData::of(Floats{-0.25F, 0})), LossFn::cross_entropy, 0)
            .has_value());
}

TEST_CASE("No batch at all and an empty one are refused", "[api][batch_check]") {
  CHECK(says(check_batch({}).error().message, "`data` is empty"));
  CHECK(says(check_batch({.data = make_batch({})}).error().message, "`data` is empty"));
}

TEST_CASE("An input without a token is refused", "[api][batch_check]") {
  auto datum = good_datum();
  datum.model_input = GENERATE(ModelInput{}, ModelInput::from_ints({}));
  CHECK(says(refusal(datum), "data[1].model_input is empty"));
}

TEST_CASE("A number that is not finite is refused with its place", "[api][batch_check]") {
  auto infinity = std::numeric_limits<float>::infinity();
  auto value = GENERATE_COPY(std::nanf(""), infinity, -infinity);
  CHECK(says(refusal(with("weights", TensorData::of(Floats{1, value}))),
             "data[1].loss_fn_inputs.weights[1] is"));
}

TEST_CASE("A tensor of another shape than the input's is refused with both", "[api][batch_check]") {
  CHECK(says(refusal(with("target_tokens", TensorData::of(Ints{2, 3, 4}))),
             "data[1].loss_fn_inputs.target_tokens has shape [3], but must have [2] or [2, K]"));
  CHECK(says(refusal(with("weights", TensorData::of(Floats{1}))),
             "data[1].loss_fn_inputs.weights has shape [1], but must have [2]"));
  CHECK(says(refusal(with("advantages", TensorData::of(Floats{1}), good_rl_datum()), LossFn::ppo),
             "data[1].loss_fn_inputs.advantages has shape [1], but must have [2]"));
  CHECK(says(refusal(with("target_tokens", TensorData::of(Ints{2, 3}, {2, 1}), good_rl_datum()),
                     LossFn::ppo),
             "has shape [2, 1], but must have [2], one"));
}

TEST_CASE("A tensor whose elements do not fill its shape is refused", "[api][batch_check]") {
  auto ragged = TensorData::of(Ints{2, 3, 4}, {2, 2});
  CHECK(says(refusal(with("target_tokens", ragged)),
             "data[1].loss_fn_inputs.target_tokens: shape [2, 2] needs 4 elements, got 3"));
}

TEST_CASE("Several targets a token are for cross_entropy, with weights of their shape",
          "[api][batch_check]") {
  auto datum = with("target_tokens", TensorData::of(Ints{2, 3, 4, 5}, {2, 2}));
  CHECK(says(refusal(datum), "weights has shape [2], but must have [2, 2]"));
  datum.loss_fn_inputs["weights"] = TensorData::of(Floats{1, 0, 1, 0}, {2, 2});
  CHECK(check_datum(datum, LossFn::cross_entropy, 0).has_value());
  datum.loss_fn_inputs["weights"] = TensorData{.data = Floats{1},
                                               .shape = std::vector<std::int64_t>{2, 2},
                                               .sparse = CsrIndices{{0, 1, 1}, {0}}};
  CHECK(check_datum(datum, LossFn::cross_entropy, 0).has_value());
}

TEST_CASE("A token id outside of 31 bits is refused with its value", "[api][batch_check]") {
  auto id = GENERATE(std::int64_t{-1}, std::int64_t{1} << 31, std::int64_t{1} << 40);
  CHECK(says(refusal(with("target_tokens", TensorData::of(Ints{2, id}))),
             "target_tokens[1] is " + std::to_string(id)));
  auto datum = good_datum();
  datum.model_input = ModelInput::from_ints({1, -7});
  CHECK(says(refusal(datum), "data[1].model_input.chunks[0].tokens[1] is -7"));
}

TEST_CASE("A tensor of the wrong element type is refused", "[api][batch_check]") {
  CHECK(says(refusal(with("target_tokens", TensorData::of(Floats{2, 3}))),
             "target_tokens is float32, but must be int64"));
  CHECK(says(refusal(with("weights", TensorData::of(Ints{1, 1}))),
             "weights is int64, but must be float32"));
}

TEST_CASE("A tensor that the loss needs is missed, one that none knows is refused",
          "[api][batch_check]") {
  auto datum = good_datum();
  datum.loss_fn_inputs.erase("target_tokens");
  CHECK(says(refusal(datum), "data[1].loss_fn_inputs.target_tokens is missing"));
  CHECK(says(refusal(good_datum(), LossFn::ppo),
             "data[1].loss_fn_inputs.logprobs is missing; ppo needs it"));
  CHECK(says(refusal(with("weight", TensorData::of(Floats{1, 1}))),
             "data[1].loss_fn_inputs.weight is not known"));
}

TEST_CASE("An image need not tell its tokens, an asset pointer is refused", "[api][batch_check]") {
  auto datum = good_datum();
  datum.model_input.chunks.emplace_back(ImageChunk{.data = "abc"});
  datum.loss_fn_inputs["target_tokens"] = TensorData::of(Ints(9, 1));
  datum.loss_fn_inputs["weights"] = TensorData::of(Floats(9, 1));
  CHECK(check_datum(datum, LossFn::cross_entropy, 0).has_value());
  std::get<ImageChunk>(datum.model_input.chunks[1]).expected_tokens = 5;
  CHECK(says(refusal(datum), "has shape [9], but must have [7]"));
  datum.model_input.chunks[1] = ImageAssetPointerChunk{.location = "https://x"};
  CHECK(says(refusal(datum), "data[1].model_input.chunks[1] is an image_asset_pointer"));
  datum.model_input.chunks[1] = DmelChunk{};
  CHECK(says(refusal(datum), "data[1].model_input.chunks[1]: dmel"));
}

TEST_CASE("A setting that the loss does not have is refused by name", "[api][batch_check]") {
  CHECK(check_loss_fn_config(LossFn::ppo, LossFnConfig{{"clip_low_threshold", 0.9}}).has_value());
  CHECK(check_loss_fn_config(LossFn::dro, LossFnConfig{{"beta", 0}}).has_value());
  CHECK(check_loss_fn_config(LossFn::cross_entropy, LossFnConfig{}).has_value());
  CHECK(says(refusal(LossFn::cross_entropy, {{"beta", 1}}),
             "loss_fn_config.beta is not known: cross_entropy takes no settings"));
  CHECK(says(refusal(LossFn::cispo, {{"beta", 1}}),
             "cispo takes clip_low_threshold, clip_high_threshold"));
  CHECK(says(refusal(LossFn::dro, {{"beta", std::nan("")}}), "loss_fn_config.beta is nan"));
  CHECK(says(refusal(LossFn::dro, {{"beta", -1}}), "loss_fn_config.beta is -1"));
  CHECK(says(refusal(LossFn::ppo, {{"clip_low_threshold", 1.5}}),
             "clip_low_threshold is 1.5, but must not be above clip_high_threshold, 1.2"));
}

TEST_CASE("A custom loss takes targets and weights, and nothing else", "[api][batch_check]") {
  CHECK(check_custom_loss_datum(good_datum(), 0).has_value());
  CHECK(says(check_custom_loss_datum(good_rl_datum(), 3).error().message,
             "data[3].loss_fn_inputs.advantages is not for a custom loss"));
  auto bare = good_datum();
  bare.loss_fn_inputs.clear();
  CHECK(says(check_custom_loss_datum(bare, 3).error().message,
             "data[3].loss_fn_inputs.target_tokens is missing"));
}
