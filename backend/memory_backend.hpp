// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/backend.hpp"

namespace tinkaf {

/// A backend without a service, for tests of loops: everything happens at the call, and the same
/// calls give the same answers.
///
/// Every target token has log-probability −0.5. `optim_step` says the rate that it got as
/// `optim/lr`. Paths are `memory://state/<name>` and `memory://sampler/<name>`; a state of a name
/// that is taken is refused, as by the service. Its samplers give the texts of `answers` in turn
/// and log-probability 0 for each prompt token.
class MemoryBackend : public Backend {
public:
  /// @param answers tokens that its samplers draw, one after the other and from the beginning
  ///   again; without any, samples are empty
  explicit MemoryBackend(std::optional<text::Tokenizer> tokenizer = {},
                         std::vector<std::vector<Token>> answers = {});

  struct ForwardBackwardCall {
    std::size_t datums = 0;
    LossFn loss_fn = LossFn::cross_entropy;
    LossFnConfig loss_fn_config;

    friend bool operator==(const ForwardBackwardCall&, const ForwardBackwardCall&) = default;
  };

  // What was asked for, in the order of the calls. A loop that is being tested only reads these.
  std::vector<ForwardBackwardCall> forward_backward_calls;
  std::vector<std::size_t> custom_calls;
  std::vector<AdamParams> optim_calls;
  std::vector<std::string> sampler_saves;
  std::vector<std::string> state_saves;

  [[nodiscard]] Future<ForwardBackwardOutput>
  forward_backward(Batch data, LossFn loss_fn = LossFn::cross_entropy,
                   LossFnConfig loss_fn_config = {}) override;

  /// Calls the function at once, on the caller's thread.
  [[nodiscard]] Future<ForwardBackwardOutput> forward_backward_custom(Batch data,
                                                                      CustomLossFn loss) override;
  [[nodiscard]] Future<OptimStepResponse> optim_step(const AdamParams& params) override;
  [[nodiscard]] Result<std::string> save_for_sampler(const std::string& name) override;
  [[nodiscard]] Result<std::string> save_full_state(const std::string& name) override;
  [[nodiscard]] Result<std::shared_ptr<BackendSampler>>
  snapshot_sampling_client(const std::string& name) override;
  using Backend::snapshot_sampling_client;
  [[nodiscard]] Result<text::Tokenizer> get_tokenizer() const override;

private:
  std::optional<text::Tokenizer> tokenizer_;
  std::shared_ptr<const std::vector<std::vector<Token>>> answers_;
  std::set<std::string> states_;
  SnapshotLabels labels_;
};

} // namespace tinkaf
