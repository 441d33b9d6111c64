// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/training.hpp"

#include <cstddef>
#include <optional>

// What is wrong with a batch, told before anything is sent. Errors are `Errc::invalid_argument` and
// name the datum by its index, the field and its value.

namespace tinkaf {

/// Checks a batch with its loss: not empty, good settings, each datum good.
[[nodiscard]] Result<void> check_batch(const ForwardBackwardInput& input);

/// Checks the settings of a loss: known to it, finite, at least 0, the lower threshold not above
/// the upper one (0.8 and 1.2 where they are not given).
[[nodiscard]] Result<void> check_loss_fn_config(LossFn loss_fn,
                                                const std::optional<LossFnConfig>& config);

/// Checks one datum.
///
/// The input has at least one token, and none of its chunks is an asset pointer, which is for
/// sampling only. `target_tokens` are int64 token ids of shape [tokens], for cross_entropy also
/// [tokens, K]; `weights` have their shape, all else is [tokens]; these are float32 and finite.
/// `cross_entropy` needs `target_tokens`, the others `logprobs` and `advantages` besides. Lengths
/// are not compared where an image does not tell its `expected_tokens`.
/// @param index place in the batch, for the error
[[nodiscard]] Result<void> check_datum(const Datum& datum, LossFn loss_fn, std::size_t index);

/// Checks one datum of a custom loss: as for cross_entropy, and no tensors but `target_tokens` and
/// `weights`, as the official SDK has it.
[[nodiscard]] Result<void> check_custom_loss_datum(const Datum& datum, std::size_t index);

} // namespace tinkaf
