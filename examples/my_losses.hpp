// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "losses/formula.hpp"
#include "messages/error.hpp"

/// Direct preference optimization over pairs of data, the chosen one first.
/// @param reference log-probabilities of each target token under the reference
tinkaf::losses::Formula my_dpo(tinkaf::losses::TokenValues reference, double beta);

/// Proximal policy optimization, over the fields "logprobs" of the sampler and "advantages".
tinkaf::losses::FormulaValue my_ppo(const tinkaf::losses::FormulaInput& in);

/// Direct preference optimization with two regularizers; its metric `loss_total` is all three.
tinkaf::Result<tinkaf::losses::Formula>
dpo_near_reference(const tinkaf::losses::TokenValues& reference);
