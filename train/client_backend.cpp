// SPDX-License-Identifier: Apache-2.0
#include "train/client_backend.hpp"

#include <utility>

namespace tinkaf::train {

ClientBackend::ClientBackend(TrainingClient client) : client_(std::move(client)) {}

Pending<ForwardBackwardOutput> ClientBackend::forward_backward(Batch data) {
  return pending(client_.forward_backward(std::move(data)));
}

Pending<OptimStepResponse> ClientBackend::optim_step(const AdamParams& params) {
  return pending(client_.optim_step(params));
}

Pending<SaveWeightsResponse> ClientBackend::save_state(const std::string& name,
                                                       std::optional<std::chrono::seconds> ttl) {
  return pending(client_.save_state(name, {.ttl = ttl}));
}

Pending<SaveWeightsForSamplerResponse> ClientBackend::save_for_sampler(const std::string& name) {
  return pending(client_.save_weights_for_sampler(name));
}

} // namespace tinkaf::train
