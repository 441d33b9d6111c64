// SPDX-License-Identifier: Apache-2.0
#include "losses/dpo.hpp"

#include <fmt/format.h>

#include <cmath>

namespace tinkaf::losses {

namespace {

FormulaValue dpo_value(const DpoOptions& options, const FormulaInput& input) {
  const auto count = input.logprobs.size();
  if (count == 0 || count % 2 != 0)
    throw FormulaError{
        fmt::format("dpo: {} datums do not make pairs of chosen and rejected", count)};
  const auto reward = [&](std::size_t i) {
    const auto reference = input.of(options.reference, i, "dpo: reference");
    return options.beta * dot(input.weights(i), input.logprobs[i] - reference);
  };
  std::vector<Var> chosen;
  std::vector<Var> rejected;
  for (std::size_t i = 0; i < count; i += 2) {
    chosen.push_back(reward(i));
    rejected.push_back(reward(i + 1));
  }
  const auto of_chosen = join(chosen);
  const auto of_rejected = join(rejected);
  const auto margins = of_chosen - of_rejected;
  const auto loss = -mean(log_sigmoid(margins));
  return {loss,
          {{"dpo_loss", loss},
           {"accuracy", mean(greater(of_chosen, of_rejected))},
           {"margin", mean(margins)},
           {"chosen_reward", mean(of_chosen)},
           {"rejected_reward", mean(of_rejected)}}};
}

} // namespace

Result<Formula> dpo(DpoOptions options) {
  if (!std::isfinite(options.beta) || options.beta <= 0.0)
    return fail(Errc::invalid_argument,
                fmt::format("dpo: beta is {}, must be above 0", options.beta));
  return [options = std::move(options)](const FormulaInput& input) {
    return dpo_value(options, input);
  };
}

} // namespace tinkaf::losses
