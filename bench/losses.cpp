// SPDX-License-Identifier: Apache-2.0
#include "losses/dpo.hpp"
#include "losses/policy_losses.hpp"
#include "losses/regularized.hpp"
#include "losses/regularizers.hpp"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "bench/benchmarks.hpp"

namespace tinkaf::bench {

namespace {

constexpr std::size_t datums = 128;
constexpr std::size_t tokens = 2048;

/// Some logprobs, of many values.
std::vector<float> logprobs_of(std::size_t datum, double shift) {
  std::vector<float> out(tokens);
  for (std::size_t i = 0; i < tokens; ++i)
    out[i] = static_cast<float>(-1.5 + std::sin(shift + 0.37 * static_cast<double>(i + datum)));
  return out;
}

void measure(const char* what, const tinkaf::losses::Formula& formula,
             const CustomLossInput& input) {
  const auto loss = tinkaf::losses::custom_loss(formula);
  if (const auto value = loss(input); !value)
    return fmt::print("  {}: {}\n", what, value.error().message);
  const auto seconds = seconds_per_call([&] { return loss(input).has_value(); });
  fmt::print("  {:7.1f} ms  {}\n", seconds * 1e3, what);
}

} // namespace

void losses() {
  std::vector<Datum> data(datums);
  std::vector<TensorData> logprobs;
  tinkaf::losses::TokenValues reference;
  for (std::size_t i = 0; i < datums; ++i) {
    logprobs.push_back(TensorData::of(logprobs_of(i, 0.0)));
    reference.push_back(logprobs_of(i, 0.1));
    data[i].loss_fn_inputs = {
        {"weights", TensorData::of(std::vector<float>(tokens, 1.0F))},
        {"logprobs", TensorData::of(logprobs_of(i, 0.1))},
        {"advantages", TensorData::of(logprobs_of(i, 2.0))},
    };
  }
  const CustomLossInput input{.data = data, .logprobs = logprobs, .stop = {}};
  fmt::print("loss and gradient of {} x {} logprobs, from formulas\n", datums, tokens);
  measure("cross_entropy", tinkaf::losses::cross_entropy, input);
  measure("dpo", *tinkaf::losses::dpo({.beta = 1e-3, .reference = reference}), input);
  measure("ppo", *tinkaf::losses::ppo(), input);
  measure("ppo, kl_divergence and entropy, with their norms",
          *tinkaf::losses::regularized(
              *tinkaf::losses::ppo(),
              {{"kl", 0.1, *tinkaf::losses::kl_divergence({.reference = reference})},
               {"entropy", 0.01, *tinkaf::losses::entropy()}}),
          input);
  measure("orthogonality", tinkaf::losses::orthogonality(), input);
}

} // namespace tinkaf::bench
