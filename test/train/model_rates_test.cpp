// SPDX-License-Identifier: Apache-2.0
#include "train/model_rates.hpp"

#include "test/catch.hpp"

#include <string>
#include <utility>
#include <vector>

using namespace tinkaf;
using namespace tinkaf::train;

TEST_CASE("Known models have the learning rates of the rule", "[train][model_rates]") {
  // Computed by hand from the formula and the hidden sizes.
  const std::vector<std::pair<std::string, double>> expected{
      {"meta-llama/Llama-3.2-1B", 4.908239e-4},
      {"meta-llama/Llama-3.2-3B", 3.576008e-4},
      {"meta-llama/Llama-3.1-8B", 2.856415e-4},
      {"meta-llama/Llama-3.1-8B-Instruct", 2.856415e-4},
      {"meta-llama/Llama-3.1-70B", 1.662329e-4},
      {"meta-llama/Llama-3.3-70B-Instruct", 1.662329e-4},
      {"Qwen/Qwen3-30B-A3B-Instruct-2507", 4.990818e-4},
      {"Qwen/Qwen3.6-35B-A3B", 4.990818e-4},
      {"Qwen/Qwen3-4B-Instruct-2507", 4.905251e-4},
      {"Qwen/Qwen3.5-4B", 4.905251e-4},
      {"Qwen/Qwen3-8B-Base", 4.729791e-4},
      {"Qwen/Qwen3.5-397B-A17B", 4.729791e-4},
      {"Qwen/Qwen3-32B", 4.648699e-4},
      {"Qwen3.8-27B:peft:262144", 4.648699e-4}};
  for (const auto& [model, rate] : expected) {
    INFO(model);
    CHECK(recommended_learning_rate(model).value() == Catch::Approx(rate).epsilon(1e-6));
    CHECK(recommended_learning_rate(model, false).value()
          == Catch::Approx(rate / 10).epsilon(1e-6));
  }
}

TEST_CASE("Models that the rule is not for are told apart from those nobody knows",
          "[train][model_rates][errors]") {
  for (const auto* model :
       {"Inkling-Small", "deepseek-ai/DeepSeek-V3.1", "openai/gpt-oss-20b", "openai/gpt-oss-120b",
        "moonshotai/Kimi-K2.6", "nvidia/Nemotron-3-Nano-30B-A3B",
        "nvidia/Nemotron-3.5-Lightning-30B-A3B"}) {
    INFO(model);
    auto rate = recommended_learning_rate(model);
    REQUIRE_FALSE(rate.has_value());
    CHECK(rate.error().code == Errc::invalid_argument);
    CHECK(rate.error().message.find("calibrated") != std::string::npos);
  }
  for (const auto* model : {"tinkaf/tiny", "Qwen/Qwen9-8B", "Qwen/Qwen3-80B"}) {
    INFO(model);
    CHECK(recommended_learning_rate(model).error().code == Errc::not_found);
  }
  CHECK(recommended_learning_rate("Qwen/Qwen9-8B", true, 4096).value()
        == Catch::Approx(4.729791e-4).epsilon(1e-6));
  CHECK(recommended_learning_rate("Qwen/Qwen9-8B", true, 0).error().code == Errc::invalid_argument);
}

TEST_CASE("The hidden size is found in a configuration, nested or not", "[train][model_rates]") {
  CHECK(hidden_size_in(R"({"hidden_size": 2048})") == 2048);
  CHECK(hidden_size_in(R"({"text_config": {"hidden_size": 512}})") == 512);
  for (const auto* bad : {"{}", "[", R"({"hidden_size": -1})", R"({"text_config": 3})"})
    CHECK(hidden_size_in(bad).error().code == Errc::invalid_argument);
  CHECK(hidden_size("nvidia/Nemotron-3-Ultra-550B-A55B") == 8192);
  CHECK(hidden_size("Inkling-Small") == 4096);
}

TEST_CASE("The size of an adapter follows from rank and parts", "[train][model_rates]") {
  // 16 layers of three projections between widths 2048 and 8192.
  CHECK(lora_parameters("meta-llama/Llama-3.2-1B", 1,
                        {.mlp = true, .attention = false, .unembedding = false})
        == 16 * 3 * (2048 + 8192));
  CHECK(lora_parameters("Qwen/Qwen3-8B", 32) == 32 * (1'769'472 + 958'464 + 156'032));
  CHECK(lora_parameters("Qwen/Qwen3-8B", 0).error().message.find("rank is 0") == 0);
  CHECK(lora_parameters("Qwen/Qwen3-8B", 1, {false, false, false}).error().code
        == Errc::invalid_argument);
  CHECK(lora_parameters("tinkaf/tiny", 1).error().code == Errc::not_found);
}
