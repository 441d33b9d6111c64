// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/secret.hpp"
#include "messages/session.hpp"
#include "messages/training.hpp"

#include <optional>
#include <string>

// What a session is asked for.

namespace tinkaf {

/// Asks for an adapter on a base model.
struct CreateLoraTrainingClient {
  std::string base_model;
  LoraConfig lora_config;
  UserMetadata user_metadata;
};

/// Asks for an adapter made from a training checkpoint.
struct CreateTrainingClientFromState {
  /// A `tinker://…/weights/…` path.
  std::string path;

  /// Restore the optimizer's state too.
  bool with_optimizer = false;

  UserMetadata user_metadata;

  /// The base model to use in place of the checkpoint's own.
  std::optional<std::string> base_model;

  /// Lets in to a checkpoint of another account; sent to the service only.
  Secret weights_access_token;
};

/// Asks for weights to sample from; where `base_model` is set too, `model_path` decides.
struct CreateSamplingClient {
  std::optional<std::string> base_model;

  /// A `tinker://…/sampler_weights/…` path.
  std::optional<std::string> model_path;

  /// A sampling session that the service has opened already.
  std::optional<std::string> sampling_session_id;
};

} // namespace tinkaf
