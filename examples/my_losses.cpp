// SPDX-License-Identifier: Apache-2.0
//
// Losses of one's own, as formulas: DPO and PPO written by hand, and a ready loss with
// regularizers.
#include "examples/my_losses.hpp"

#include "losses/dpo.hpp"
#include "losses/regularized.hpp"
#include "losses/regularizers.hpp"

using namespace tinkaf;
using namespace tinkaf::losses;

// Data 0, 2, 4 … are chosen, each followed by the rejected one.
Formula my_dpo(TokenValues reference, double beta) {
  return [reference, beta](const FormulaInput& in) -> FormulaValue {
    Var loss = in.tape.constant(0.0);
    for (std::size_t i = 0; i + 1 < in.logprobs.size(); i += 2) {
      Var chosen = sum(in.logprobs[i] - in.of(reference, i, "reference"));
      Var rejected = sum(in.logprobs[i + 1] - in.of(reference, i + 1, "reference"));
      loss = loss - log_sigmoid(beta * (chosen - rejected));
    }
    return {loss, {{"my_dpo", loss}}};
  };
}

// The sampler's logprobs and the advantages come beside the formula, see below.
FormulaValue my_ppo(const FormulaInput& in) {
  Var loss = in.tape.constant(0.0);
  for (std::size_t i = 0; i < in.logprobs.size(); ++i) {
    Var advantages = in.field(i, "advantages");
    Var ratio = exp(in.logprobs[i] - in.field(i, "logprobs"));
    loss = loss - sum(min(ratio * advantages, clamp(ratio, 0.8, 1.2) * advantages));
  }
  return {.loss = loss};
}

// A ready loss and two terms beside it.
Result<Formula> dpo_near_reference(const TokenValues& reference) {
  auto base = dpo({.beta = 0.1, .reference = reference});
  auto kl = kl_divergence({.reference = reference, .direction = KlOptions::Direction::symmetric});
  if (!base || !kl)
    return fail(base ? kl.error() : base.error());
  return regularized(*base, {{.name = "kl", .weight = 0.05, .value = *kl},
                             {.name = "l1", .weight = 1e-4, .value = l1_sparsity()}});
}
