// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "losses/formula.hpp"

#include <string>
#include <vector>

namespace tinkaf::losses {

/// A term of a loss.
struct Regularizer {
  /// What its metrics are called by; not empty, and no two are alike.
  std::string name;

  /// How much the term counts; at least 0.
  double weight = 1.0;

  /// Gives the value; one of losses/regularizers.hpp or your own.
  Formula value;
};

/// base + Σ weight · value, computed in the order given.
///
/// Metrics, besides those of the base: `loss_total`, `regularizer_total`, `total_grad_norm`,
/// `base_loss/value`, `base_loss/grad_norm`, and for each term `<name>/value`, `/weight`,
/// `/contribution` (weight · value), `/grad_norm` (of the value), `/grad_norm_weighted`, and
/// `<name>/…` for the term's own. Norms are L2, over all log-probabilities of the batch.
///
/// The loss fails as a whole, by the term's name, if a term throws or is not a finite number.
/// @returns `Errc::invalid_argument` that names the term: an empty or repeated name, a weight below
///   0 or not finite, no formula
[[nodiscard]] Result<Formula> regularized(Formula base, std::vector<Regularizer> terms);

} // namespace tinkaf::losses
