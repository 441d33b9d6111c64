// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/service.hpp"
#include "messages/notice.hpp"

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "backend/backend.hpp"

namespace tinkaf {

/// Finds the tokenizer of a model. May throw; that is an error like any other.
using LoadTokenizer
    = std::function<Result<text::Tokenizer>(const std::string& model_name, const ModelInfo& info)>;

/// What a backend is made of.
struct TinkerBackendSettings {
  /// The base model, also what checkpoints to go on from have to be made of.
  std::string model_name;

  /// Of a fresh adapter; ignored where a path is given.
  std::int32_t lora_rank = 32;

  /// Stored with the training run under `renderer_name`, over an entry of the caller's; empty for
  /// none.
  std::string renderer_name;

  /// A `tinker://…/weights/…` path to go on from with the optimizer's state. Wins over
  /// `init_weights_path`; empty for none.
  std::string resume_state_path;

  /// A path to begin with: its weights, a fresh optimizer. Empty for none.
  std::string init_weights_path;

  /// The environment variable with the API key.
  std::string api_key_env = "TINKER_API_KEY";

  /// Free text by name, stored with the training run.
  UserMetadata user_metadata;

  /// For all of `create` together.
  std::chrono::milliseconds time_limit{90'000};

  /// Without one, `get_tokenizer` is an error.
  LoadTokenizer load_tokenizer;

  /// Everything else about the client; `api_key` is not looked at.
  ClientOptions options;

  NoticeSink notices = notices_to_stderr();
};

/// The backend over the Tinker service.
class TinkerBackend : public Backend {
public:
  /// Makes no request.
  TinkerBackend(Service service, TrainingClient training_client, std::string model_name,
                std::optional<text::Tokenizer> tokenizer = {});

  /// Connects and makes the model: from `resume_state_path` with its optimizer, else from
  /// `init_weights_path`, else a fresh adapter.
  ///
  /// Nothing is sent before the key is there and the settings are checked, and no model is made
  /// before a checkpoint is known to be one of `model_name`. If the tokenizer cannot be had, the
  /// model is released again.
  /// @returns `Errc::unauthenticated` naming the variable if it is not set,
  ///   `Errc::invalid_argument` naming a bad setting or the other base model of a checkpoint,
  ///   `Errc::timeout` after `time_limit`: what is made then all the same is released in the
  ///   background; and the errors of `Service`, of the checkpoint and of `load_tokenizer` as they
  ///   are
  [[nodiscard]] static Result<std::shared_ptr<TinkerBackend>>
  create(TinkerBackendSettings settings);

  [[nodiscard]] Future<ForwardBackwardOutput>
  forward_backward(Batch data, LossFn loss_fn = LossFn::cross_entropy,
                   LossFnConfig loss_fn_config = {}) override;
  [[nodiscard]] Future<ForwardBackwardOutput> forward_backward_custom(Batch data,
                                                                      CustomLossFn loss) override;
  [[nodiscard]] Future<OptimStepResponse> optim_step(const AdamParams& params) override;
  [[nodiscard]] Result<std::string> save_for_sampler(const std::string& name) override;
  [[nodiscard]] Result<std::string> save_full_state(const std::string& name) override;
  [[nodiscard]] Result<std::shared_ptr<BackendSampler>>
  snapshot_sampling_client(const std::string& name) override;
  using Backend::snapshot_sampling_client;
  [[nodiscard]] Result<text::Tokenizer> get_tokenizer() const override;

  /// The client that trains, for all that the backend has no word for.
  [[nodiscard]] const TrainingClient& training_client() const noexcept {
    return training_client_;
  }

  [[nodiscard]] const Service& service() const noexcept {
    return service_;
  }

private:
  Service service_;
  TrainingClient training_client_;
  std::string model_name_;
  std::optional<text::Tokenizer> tokenizer_;
  SnapshotLabels labels_;
};

} // namespace tinkaf
