// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/future.hpp"
#include "client/sampling_client.hpp"
#include "messages/custom_loss.hpp"
#include "messages/future.hpp"
#include "messages/session.hpp"
#include "messages/training.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tinkaf {

/// Trains one model. Thread-safe; copies are the same client.
///
/// Every call returns at once, and operations take effect in the order of the calls: submit an
/// optimizer step right behind its gradients without waiting for these. Keeps the connection of
/// its service open as long as it lives.
class TrainingClient {
public:
  /// Loss, outputs and gradient, which is added to the model's own.
  ///
  /// A batch too large for one request travels in parts and comes back as one result.
  /// @returns `Errc::invalid_argument` for an empty batch or a bad datum, which it names
  [[nodiscard]] Future<ForwardBackwardOutput>
  forward_backward(Batch data, LossFn loss_fn = LossFn::cross_entropy,
                   std::optional<LossFnConfig> loss_fn_config = {}) const;
  [[nodiscard]] Future<ForwardBackwardOutput>
  forward_backward(std::vector<Datum> data, LossFn loss_fn = LossFn::cross_entropy,
                   std::optional<LossFnConfig> loss_fn_config = {}) const;

  /// The same without a gradient: leaves no trace in the model.
  [[nodiscard]] Future<ForwardBackwardOutput>
  forward(Batch data, LossFn loss_fn = LossFn::cross_entropy,
          std::optional<LossFnConfig> loss_fn_config = {}) const;

  /// The gradient of a loss of your own, added to the model's own.
  ///
  /// The service gives the log-probabilities, `loss` makes of them a loss and its derivative by
  /// each of them, and the service goes on from there: two passes. `loss` is called once, on a
  /// thread of its own; operations called meanwhile take effect behind it, so an `optim_step` may
  /// be submitted at once. The result is that of the second pass, with the metrics of `loss` among
  /// its own (those of `loss` win) and its value as `custom_loss`; outputs and other metrics are
  /// those of the gradient's cross-entropy.
  /// @param data `target_tokens` in each datum, perhaps `weights` for `loss` to read, and nothing
  ///   else: what it needs besides, `loss` brings along
  /// @returns `Errc::invalid_argument` naming a bad datum, or what `loss` did wrong: it threw, or
  ///   gave a gradient of another shape or one that is not finite. The model is then as before.
  ///   Where `loss` itself returns an error, that one. When the client ends first, `loss` is asked
  ///   to stop, and waited for up to 2 s: only then may it refer to what ends with the caller.
  [[nodiscard]] Future<ForwardBackwardOutput> forward_backward_custom(Batch data,
                                                                      CustomLossFn loss) const;

  /// Applies the gathered gradient and clears it.
  [[nodiscard]] Future<OptimStepResponse> optim_step(const AdamParams& adam_params = {}) const;

  /// Saves weights and optimizer, to go on training.
  /// @param name not empty, without slashes
  [[nodiscard]] Future<SaveWeightsResponse> save_state(const std::string& name,
                                                       SaveWeightsOptions options = {}) const;

  /// Loads weights from a `tinker://…/weights/…` path; the optimizer starts afresh.
  [[nodiscard]] Future<LoadWeightsResponse> load_state(const std::string& path) const;

  /// Loads weights and the optimizer's state.
  [[nodiscard]] Future<LoadWeightsResponse>
  load_state_with_optimizer(const std::string& path) const;

  /// Saves weights to sample from; the answer has the path.
  /// @param options without `overwrite`, which such a save does not know
  [[nodiscard]] Future<SaveWeightsForSamplerResponse>
  save_weights_for_sampler(const std::string& name, SaveWeightsOptions options = {}) const;

  /// Saves the present weights under no name and waits for a client that samples from them.
  [[nodiscard]] Result<SamplingClient> save_weights_and_get_sampling_client() const;

  /// What the service knows of the model.
  [[nodiscard]] Future<ModelInfo> get_info() const;

  /// Frees the model at the service, behind all operations called before.
  [[nodiscard]] Future<UnloadModelResponse> unload() const;

  /// The service's name for the model.
  [[nodiscard]] const std::string& model_id() const noexcept;

private:
  friend struct ClientAccess;
  struct Impl;
  explicit TrainingClient(std::shared_ptr<const Impl> impl);

  std::shared_ptr<const Impl> impl_;
};

} // namespace tinkaf
