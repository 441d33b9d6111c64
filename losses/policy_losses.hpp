// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "losses/formula.hpp"

// The losses that the service computes itself, as formulas: to change them, or to add terms. With
// p the logprobs, q the field `logprobs` (those of the sampler), A the field `advantages`,
// r = exp(p − q), all summed over tokens and datums. Each gives the service's value and gradient.
// The fields go beside the formula: `custom_loss(*ppo(), {{"logprobs", q}, {"advantages", a}})`.

namespace tinkaf::losses {

/// −Σ w p; `weights` are 1 if absent.
[[nodiscard]] FormulaValue cross_entropy(const FormulaInput& input);

/// −Σ r A
[[nodiscard]] FormulaValue importance_sampling(const FormulaInput& input);

/// Bounds of the ratio r, as they are (not distances from 1).
struct ClipThresholds {
  double clip_low_threshold = 0.8;
  double clip_high_threshold = 1.2;
};

/// −Σ min(r A, clamp(r) A); metric `clip_fraction`, the share of tokens with A ≠ 0 whose ratio is
/// out of bounds.
/// @returns `Errc::invalid_argument` unless 0 <= low <= high
[[nodiscard]] Result<Formula> ppo(const ClipThresholds& options = {});

/// −Σ clamp(r) A p, where no gradient flows through clamp(r).
/// @returns `Errc::invalid_argument` unless 0 <= low <= high
[[nodiscard]] Result<Formula> cispo(const ClipThresholds& options = {});

/// −Σ (A p − ½ β (p − q)²)
/// @returns `Errc::invalid_argument` unless beta is a number from 0 on
[[nodiscard]] Result<Formula> dro(double beta = 0.05);

} // namespace tinkaf::losses
