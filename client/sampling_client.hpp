// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/future.hpp"
#include "messages/sampling.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tinkaf {

/// Draws from one set of weights. Thread-safe; copies are the same client.
///
/// Keeps the connection of its service open as long as it lives.
class SamplingClient {
public:
  /// Asks for continuations. Calls run side by side.
  [[nodiscard]] Future<SampleResponse> sample(SampleRequest request) const;

  /// The same, field by field.
  [[nodiscard]] Future<SampleResponse> sample(ModelInput prompt, std::int32_t num_samples = 1,
                                              SamplingParams sampling_params = {}) const;

  /// Log-probability of each prompt token given those before it, in nats; the first is empty.
  [[nodiscard]] Future<std::vector<std::optional<float>>> compute_logprobs(ModelInput prompt) const;

private:
  friend struct ClientAccess;
  struct Impl;
  explicit SamplingClient(std::shared_ptr<const Impl> impl);

  std::shared_ptr<const Impl> impl_;
};

} // namespace tinkaf
