// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/future.hpp"
#include "messages/custom_loss.hpp"
#include "messages/error.hpp"
#include "messages/sampling.hpp"
#include "messages/training.hpp"
#include "text/tokenizer.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tinkaf {

/// Draws from one set of weights.
class BackendSampler {
public:
  virtual ~BackendSampler() = default;

  /// Asks for continuations; calls run side by side.
  [[nodiscard]] virtual Future<SampleResponse> sample(SampleRequest request) = 0;

  /// Log-probability of each prompt token given those before it, in nats; the first is empty.
  [[nodiscard]] virtual Future<std::vector<std::optional<float>>>
  compute_logprobs(ModelInput prompt) = 0;

  /// The label of the snapshot.
  [[nodiscard]] virtual const std::string& name() const noexcept = 0;

  /// Where its weights are, for example `tinker://<run>/sampler_weights/<name>`.
  [[nodiscard]] virtual const std::string& model_path() const noexcept = 0;
};

/// The seam between a training loop and a training service: one model in training.
///
/// The loop knows nothing else, so that it can be tried without a service. Used by one thread at a
/// time.
class Backend {
public:
  virtual ~Backend() = default;

  // Submitted when these return, in the order of the calls; the future only observes. Submit an
  // optimizer step right behind its gradient, and wait for both then.

  /// Loss, outputs and gradient, which is added to the model's own.
  /// @param loss_fn_config left out where it is empty
  [[nodiscard]] virtual Future<ForwardBackwardOutput> forward_backward(Batch data, LossFn loss_fn,
                                                                       LossFnConfig loss_fn_config)
      = 0;

  /// The gradient of a loss of the caller's, see `CustomLossFn`.
  [[nodiscard]] virtual Future<ForwardBackwardOutput> forward_backward_custom(Batch data,
                                                                              CustomLossFn loss)
      = 0;

  /// Applies the gathered gradient and clears it.
  [[nodiscard]] virtual Future<OptimStepResponse> optim_step(const AdamParams& params) = 0;

  // Done when these return.

  /// Saves weights to sample from, for ever; gives their path.
  [[nodiscard]] virtual Result<std::string> save_for_sampler(const std::string& name) = 0;

  /// Saves weights and optimizer to go on training, for ever; gives their path.
  /// @param name new to the run
  [[nodiscard]] virtual Result<std::string> save_full_state(const std::string& name) = 0;

  /// Saves the present weights and opens them to sample from.
  /// @param name its label; empty for the next of `snap_1`, `snap_2` …
  [[nodiscard]] virtual Result<std::shared_ptr<BackendSampler>>
  snapshot_sampling_client(const std::string& name) = 0;

  Result<std::shared_ptr<BackendSampler>> snapshot_sampling_client() {
    return snapshot_sampling_client(std::string{});
  }

  /// The model's tokenizer.
  [[nodiscard]] virtual Result<text::Tokenizer> get_tokenizer() const = 0;
};

/// Labels of snapshots that have no name: `snap_1`, `snap_2` … They count from the beginning of
/// their backend; two backends of one run give the same ones, so name snapshots by the step.
class SnapshotLabels {
public:
  /// A label that is given stays as it is and moves nothing.
  [[nodiscard]] std::string label(const std::string& name) {
    return name.empty() ? "snap_" + std::to_string(++last_) : name;
  }

private:
  std::uint64_t last_ = 0;
};

} // namespace tinkaf
