// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/sampling.hpp"
#include "messages/training.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>

namespace tinkaf {

/// A promise of the service: the name under which a submitted operation's result is fetched.
struct FutureRef {
  std::string request_id;

  /// Empty where the service does not say.
  std::string model_id;

  friend bool operator==(const FutureRef&, const FutureRef&) = default;
};

/// Which operation a future stands for; decides how its result is read.
enum class RequestType : std::uint8_t {
  create_model,
  forward,
  forward_backward,
  optim_step,
  save_weights,
  load_weights,
  save_weights_for_sampler,
  save_weights_external,
  unload_model,
  sample,
};

/// Returns the name in the `X-Tinker-Request-Type` header, for example "ForwardBackward".
[[nodiscard]] constexpr const char* to_string(RequestType type) noexcept {
  switch (type) {
  case RequestType::create_model:
    return "CreateModel";
  case RequestType::forward:
    return "Forward";
  case RequestType::forward_backward:
    return "ForwardBackward";
  case RequestType::optim_step:
    return "OptimStep";
  case RequestType::save_weights:
    return "SaveWeights";
  case RequestType::load_weights:
    return "LoadWeights";
  case RequestType::save_weights_for_sampler:
    return "SaveWeightsForSampler";
  case RequestType::save_weights_external:
    return "SaveWeightsExternal";
  case RequestType::unload_model:
    return "UnloadModel";
  case RequestType::sample:
    return "Sample";
  }
  return "Unknown";
}

/// Whether the service works on a request or makes it wait.
enum class QueueState : std::uint8_t { active, paused_capacity, paused_rate_limit, unknown };

struct CreateModelResponse {
  std::string model_id;

  friend bool operator==(const CreateModelResponse&, const CreateModelResponse&) = default;
};

struct UnloadModelResponse {
  std::string model_id;

  friend bool operator==(const UnloadModelResponse&, const UnloadModelResponse&) = default;
};

/// An operation's queue state is not what it was, or has another reason.
struct QueueStateChange {
  std::string request_id;
  RequestType type = RequestType::forward_backward;
  QueueState state = QueueState::unknown;

  /// The service's own words; may be empty.
  std::string reason;

  friend bool operator==(const QueueStateChange&, const QueueStateChange&) = default;
};

/// Takes the changes of all operations, those of one in their order; called from any thread, must
/// not block.
using QueueStateSink = std::function<void(const QueueStateChange&)>;

/// Result of any future; which alternative follows from its `RequestType`.
using FutureValue
    = std::variant<CreateModelResponse, ForwardBackwardOutput, OptimStepResponse,
                   SaveWeightsResponse, LoadWeightsResponse, SaveWeightsForSamplerResponse,
                   SaveWeightsExternalResponse, UnloadModelResponse, SampleResponse>;

/// The result is not there yet.
struct FuturePending {
  QueueState queue_state = QueueState::unknown;
  std::string queue_state_reason;

  /// How long the service asks to wait before the next poll.
  std::optional<std::chrono::milliseconds> retry_after;

  friend bool operator==(const FuturePending&, const FuturePending&) = default;
};

/// The result is there and large; ask again without `allow_metadata_only`.
struct FutureTooLarge {
  std::int64_t response_payload_size = 0;

  friend bool operator==(const FutureTooLarge&, const FutureTooLarge&) = default;
};

/// The operation was accepted and failed.
struct FutureFailed {
  std::string error;
  ErrorCategory category = ErrorCategory::unknown;

  friend bool operator==(const FutureFailed&, const FutureFailed&) = default;
};

/// What one successful poll tells.
using FuturePoll = std::variant<FuturePending, FutureTooLarge, FutureFailed, FutureValue>;

} // namespace tinkaf
