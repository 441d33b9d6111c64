// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/custom_loss.hpp"
#include "messages/error.hpp"
#include "messages/training.hpp"

#include <functional>
#include <string>
#include <variant>

// What the engine needs of a training service: requests that are submitted at the call, take effect
// in the order of the calls, and are answered later.

namespace tinkaf {

/// `forward_backward` under cross_entropy.
struct SubmitForwardBackward {
  Batch datums;
};

/// `forward_backward_custom`.
struct SubmitCustom {
  Batch datums;
  CustomLossFn fn;
};

/// `forward` under cross_entropy.
struct SubmitForward {
  Batch datums;
};

/// `optim_step`.
struct SubmitOptimStep {
  AdamParams params;
};

/// `save_weights_for_sampler`.
struct SubmitSamplerSave {
  std::string name;
  SaveWeightsOptions options;
};

/// `save_state`.
struct SubmitStateSave {
  std::string name;
  SaveWeightsOptions options;
};

using EngineRequest = std::variant<SubmitForwardBackward, SubmitCustom, SubmitForward,
                                   SubmitOptimStep, SubmitSamplerSave, SubmitStateSave>;

/// Answer to a request; which alternative follows from it.
using EngineAnswer = std::variant<ForwardBackwardOutput, OptimStepResponse,
                                  SaveWeightsForSamplerResponse, SaveWeightsResponse>;

/// Waits for an answer; called once at most.
using AwaitAnswer = std::function<Result<EngineAnswer>()>;

/// One model in training. Used by one thread at a time.
class EngineClient {
public:
  virtual ~EngineClient() = default;

  /// Submits a request; it is on its way when this returns.
  /// @returns an error where it could not be submitted; then it has no effect
  [[nodiscard]] virtual Result<AwaitAnswer> submit(EngineRequest request) = 0;
};

} // namespace tinkaf
