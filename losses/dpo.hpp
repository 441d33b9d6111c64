// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "losses/formula.hpp"

namespace tinkaf::losses {

struct DpoOptions {
  /// How much the policy is held to the reference; above 0.
  double beta = 0.1;

  /// Log-probabilities of the target tokens under the reference model, for each datum of the batch.
  TokenValues reference;
};

/// Direct preference optimization: data 0, 2, 4 … are the chosen answers, each followed by the one
/// that was rejected.
///
/// With π(s) = Σ weight · logprob of a datum and ρ(s) the same under the reference, the loss is the
/// mean over pairs of −ln σ(β[(π − ρ)(chosen) − (π − ρ)(rejected)]). `weights` are 1 if absent.
///
/// Metrics: `dpo_loss`; `accuracy`, the share of pairs whose chosen answer gained more;
/// `chosen_reward` and `rejected_reward`, means of β(π − ρ); `margin`, their difference.
///
/// Source: Rafailov et al., "Direct Preference Optimization", 2023, equation 7.
/// @returns `Errc::invalid_argument` for a beta that is not above 0; the loss itself fails for an
///   odd number of datums, for none, and for a reference that does not fit
[[nodiscard]] Result<Formula> dpo(DpoOptions options);

} // namespace tinkaf::losses
