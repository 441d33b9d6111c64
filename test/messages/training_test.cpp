// SPDX-License-Identifier: Apache-2.0
#include "messages/training.hpp"

#include "messages/sampling.hpp"
#include "test/catch.hpp"

#include <limits>

using namespace tinkaf;

TEST_CASE("Each loss is known by the service's name", "[messages][training]") {
  for (auto name : {"cross_entropy", "importance_sampling", "ppo", "cispo", "dro"}) {
    auto loss_fn = parse_loss_fn(name);
    REQUIRE(loss_fn);
    CHECK(to_string(*loss_fn) == std::string{name});
  }
}

TEST_CASE("An unknown loss is refused with the names that exist", "[messages][training]") {
  auto result = parse_loss_fn("CROSS_ENTROPY");
  REQUIRE_FALSE(result);
  CHECK(result.error().message.find("importance_sampling") != std::string::npos);
}

TEST_CASE("Adam settings out of range are refused by name", "[messages][training]") {
  CHECK(validate(AdamParams{}).has_value());
  CHECK(validate(AdamParams{.learning_rate = 0}).has_value());
  auto name_of = [](const AdamParams& params) {
    auto result = validate(params);
    REQUIRE_FALSE(result);
    return result.error().message;
  };
  CHECK(name_of({.learning_rate = 1e308})
            .find("learning_rate is 1e+308, but must be finite, also in ")
        != std::string::npos);
  CHECK(name_of({.learning_rate = -1e-4}).find("learning_rate is -0.0001") != std::string::npos);
  CHECK(name_of({.beta1 = 1}).find("beta1") != std::string::npos);
  CHECK(name_of({.beta2 = -0.1}).find("beta2") != std::string::npos);
  CHECK(name_of({.eps = 0}).find("eps") != std::string::npos);
  CHECK(name_of({.eps = 1e-60}).find("eps is 1e-60") != std::string::npos);
  CHECK(name_of({.grad_clip_norm = std::numeric_limits<double>::infinity()}).find("grad_clip_norm")
        != std::string::npos);
}

TEST_CASE("A LoRA rank must be a positive power of two", "[messages][training]") {
  auto good = GENERATE(1, 2, 32, 1024);
  CHECK(validate(LoraConfig{.rank = good}).has_value());
  auto bad = GENERATE(0, -8, 3, 48);
  CHECK_FALSE(validate(LoraConfig{.rank = bad}).has_value());
}

TEST_CASE("A LoRA adapter must train something", "[messages][training]") {
  auto nothing = LoraConfig{.train_unembed = false, .train_mlp = false, .train_attn = false};
  CHECK_FALSE(validate(nothing).has_value());
}

TEST_CASE("Sampling settings out of range are refused by name", "[messages][sampling]") {
  auto request = SampleRequest{.prompt = ModelInput::from_ints({1})};
  CHECK(validate(request).has_value());
  SECTION("max_tokens") {
    request.sampling_params.max_tokens = 0;
  }
  SECTION("temperature") {
    request.sampling_params.temperature = -1;
  }
  SECTION("top_k") {
    request.sampling_params.top_k = -2;
  }
  SECTION("top_p") {
    request.sampling_params.top_p = 0;
  }
  SECTION("num_samples") {
    request.num_samples = 0;
  }
  SECTION("topk_prompt_logprobs") {
    request.topk_prompt_logprobs = -1;
  }
  SECTION("prompt") {
    request.prompt.chunks.clear();
  }
  CHECK_FALSE(validate(request).has_value());
}
