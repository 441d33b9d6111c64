// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/training.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace tinkaf::train {

/// An answer on its way. Waits up to the given time; absent while it has not come, so that one
/// can ask again.
template <class T>
using Pending = std::function<std::optional<Result<T>>(std::chrono::milliseconds)>;

/// What a training loop needs of a training service: one model in training.
///
/// Every call submits at once and returns; operations take effect in the order of the calls. Used
/// by one thread at a time.
class Backend {
public:
  virtual ~Backend() = default;

  /// Loss and gradient of a batch under cross_entropy.
  [[nodiscard]] virtual Pending<ForwardBackwardOutput> forward_backward(Batch data) = 0;

  [[nodiscard]] virtual Pending<OptimStepResponse> optim_step(const AdamParams& params) = 0;

  /// Saves weights and optimizer, to go on training.
  /// @param ttl how long it is kept; for ever if absent
  [[nodiscard]] virtual Pending<SaveWeightsResponse>
  save_state(const std::string& name, std::optional<std::chrono::seconds> ttl) = 0;

  /// Saves weights to sample from.
  [[nodiscard]] virtual Pending<SaveWeightsForSamplerResponse>
  save_for_sampler(const std::string& name) = 0;
};

} // namespace tinkaf::train
