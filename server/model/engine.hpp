// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/datum.hpp"
#include "messages/sampling.hpp"
#include "messages/training.hpp"
#include "server/model/adapter.hpp"
#include "server/model/base_model.hpp"
#include "server/model/thread_pool.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>

/// What the server does with a model, in terms of the API's value types.
///
/// Each call either succeeds or leaves its arguments as they were. Calls on one `Adapter` must not
/// overlap; calls on different adapters, and samples, may run side by side.
/// A call that is asked to stop returns `Errc::cancelled` within a fraction of a second.
namespace tinkaf::model {

/// Checks a loss's settings.
/// @returns `Errc::invalid_argument` naming the unknown key or the value and its limit
[[nodiscard]] Result<void> check_loss_config(LossFn loss_fn,
                                             const std::optional<LossFnConfig>& config);

/// Checks one datum without running the model: tokens inside the vocabulary, length inside the
/// context window, all tensors of the loss present, of the right type and shape, and finite.
/// @param index position of the datum in its request, for the message
/// @returns `Errc::invalid_argument` naming datum, field, value and limit
[[nodiscard]] Result<void> check_datum(const BaseModel& base, const Datum& datum, LossFn loss_fn,
                                       std::size_t index);

/// Checks a sample request: prompt not empty and inside the vocabulary, prompt and `max_tokens`
/// together inside the context window, parameters in range.
/// @returns `Errc::invalid_argument`
[[nodiscard]] Result<void> check_sample(const BaseModel& base, const SampleRequest& request);

/// Sets the seed of a request that has none. Do this when a request is accepted, so that
/// answering it twice gives the same tokens.
void fix_seed(SampleRequest& request);

/// Computes the loss (a sum over tokens and data) and its outputs, and adds its gradient to the
/// adapter unless `forward_only`. Checks its input first.
///
/// Outputs: per datum `logprobs`, float32 in the shape of `target_tokens`; metric `loss:sum`.
/// The result has the same bits for any number of threads, and the logprobs of a datum do not
/// depend on its neighbours.
/// @returns `Errc::invalid_argument` for bad input; `Errc::request_failed` with "NonFiniteInTensor"
///          in the text when the loss is not finite
[[nodiscard]] Result<ForwardBackwardOutput>
forward_backward(Adapter& adapter, std::span<const Datum> data, LossFn loss_fn,
                 const std::optional<LossFnConfig>& config, bool forward_only, ThreadPool& pool,
                 std::stop_token stop = {});

/// Applies the gathered gradient with AdamW and clears it. No gradient counts as zero.
/// Metrics: `grad_norm:mean` (before clipping), `learning_rate:mean`, `step:max`.
/// @returns `Errc::invalid_argument` for bad parameters; `Errc::request_failed` when the gradient,
///          a new moment (category `server`) or a new weight (category `user`) is not finite:
///          weights and moments stay, the gradient is cleared
[[nodiscard]] Result<OptimStepResponse> optim_step(Adapter& adapter, const AdamParams& params);

} // namespace tinkaf::model
