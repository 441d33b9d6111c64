// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/future.hpp"
#include "server/models.hpp"
#include "server/trainer.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace tinkaf::server {

class ServiceCore;

/// An operation of a model, checked as far as that goes without the model.
struct Operation {
  /// Runs on the compute thread, in the order of the numbers.
  std::function<Result<FutureValue>(Model&, std::stop_token)> compute;

  /// Called once it is certain that this is no repeat, with the tables locked; may refuse.
  std::function<Result<void>()> reserve = {};
};

/// A call that asks for an operation, as far as it can be read without the tables.
struct Submission {
  std::string model_id;
  std::optional<std::int64_t> seq_id;

  /// Tells payloads apart.
  std::string digest;
  RequestType type = RequestType::forward_backward;

  /// Makes the operation, or says why it is refused, which uses its number up.
  std::function<Result<Operation>(ServiceCore&, Model&)> check;
};

/// How a model comes to be.
struct Origin {
  RequestType type = RequestType::create_model;
  std::shared_ptr<Trainer> trainer;

  /// With a seed.
  LoraConfig config;
  UserMetadata user_metadata;
  std::function<Result<std::unique_ptr<TrainedModel>>(Trainer&)> make;

  /// The result for the client.
  std::function<FutureValue(const std::string& model_id)> result;
};

/// Whether an operation of a kind may leave another model behind.
[[nodiscard]] constexpr bool changes_model(RequestType type) noexcept {
  return type == RequestType::forward_backward || type == RequestType::optim_step
         || type == RequestType::load_weights;
}

} // namespace tinkaf::server
