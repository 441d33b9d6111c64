// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/training_client.hpp"

#include "train/backend.hpp"

namespace tinkaf::train {

/// A training client as a loop sees it.
class ClientBackend : public Backend {
public:
  explicit ClientBackend(TrainingClient client);

  [[nodiscard]] Pending<ForwardBackwardOutput> forward_backward(Batch data) override;
  [[nodiscard]] Pending<OptimStepResponse> optim_step(const AdamParams& params) override;
  [[nodiscard]] Pending<SaveWeightsResponse>
  save_state(const std::string& name, std::optional<std::chrono::seconds> ttl) override;
  [[nodiscard]] Pending<SaveWeightsForSamplerResponse>
  save_for_sampler(const std::string& name) override;

private:
  TrainingClient client_;
};

/// An answer of the façade as a loop waits for it.
template <class T>
[[nodiscard]] Pending<T> pending(Future<T> future) {
  return [future = std::move(future)](std::chrono::milliseconds limit) -> std::optional<Result<T>> {
    auto answer = future.get(limit);
    // The limit and the operation itself may both run out of time; only the latter is an answer.
    if (!answer && answer.error().code == Errc::timeout && !future.ready())
      return std::nullopt;
    return future.get();
  };
}

} // namespace tinkaf::train
