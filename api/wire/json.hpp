// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/requests.hpp"
#include "messages/secret.hpp"
#include "messages/telemetry.hpp"

#include <string>
#include <string_view>

// Every JSON body of the API, both ways: clients write requests and read answers, servers the
// reverse.
//
// Writers leave out absent optional fields and send defaults. Those that can meet a number or text
// that JSON cannot hold (NaN, infinity, text that is not UTF-8) return a `Result`, whose error
// names the field and its index; the others replace bytes that are not UTF-8.
//
// Readers ignore unknown fields and take null for an absent optional field. Nesting is limited. The
// error names the body and the field, for example
// "create_model request: `lora_config.rank` must be an integer, got a string"; it is
// `Errc::invalid_argument` for requests and `Errc::protocol_error` for answers.

namespace tinkaf::wire {

/// Body of `client/config` and `client/dynamic_config`.
struct ClientConfigRequest {
  std::string sdk_version;

  friend bool operator==(const ClientConfigRequest&, const ClientConfigRequest&) = default;
};

/// Answer to a heartbeat: nothing but its type.
struct SessionHeartbeatResponse {
  friend bool operator==(const SessionHeartbeatResponse&, const SessionHeartbeatResponse&)
      = default;
};

/// Body of `auth/token`: an empty object.
struct AuthTokenRequest {
  friend bool operator==(const AuthTokenRequest&, const AuthTokenRequest&) = default;
};

struct AuthTokenResponse {
  Secret jwt;

  friend bool operator==(const AuthTokenResponse&, const AuthTokenResponse&) = default;
};

struct TelemetryResponse {
  /// "accepted"
  std::string status;

  friend bool operator==(const TelemetryResponse&, const TelemetryResponse&) = default;
};

// Sessions and models.

[[nodiscard]] std::string to_json(const ClientConfigRequest& x);
[[nodiscard]] std::string to_json(const ClientConfig& x);
[[nodiscard]] std::string to_json(const DynamicConfig& x);
[[nodiscard]] std::string to_json(const AuthTokenRequest& x);
/// The one writer that reveals a credential: it makes a server's answer.
[[nodiscard]] std::string to_json(const AuthTokenResponse& x);
[[nodiscard]] std::string to_json(const TelemetrySendRequest& x);
[[nodiscard]] std::string to_json(const TelemetryResponse& x);
[[nodiscard]] std::string to_json(const CreateSessionRequest& x);
[[nodiscard]] std::string to_json(const CreateSessionResponse& x);
[[nodiscard]] std::string to_json(const SessionHeartbeatRequest& x);
[[nodiscard]] std::string to_json(const SessionHeartbeatResponse& x);
[[nodiscard]] std::string to_json(const CreateModelRequest& x);
[[nodiscard]] std::string to_json(const GetInfoRequest& x);
[[nodiscard]] std::string to_json(const ModelInfo& x);
[[nodiscard]] std::string to_json(const UnloadModelRequest& x);
[[nodiscard]] std::string to_json(const ServerCapabilities& x);

// Training.

/// The envelope of older clients: `forward_input` or `forward_backward_input`, by `forward_only`.
[[nodiscard]] Result<std::string> to_json(const ForwardBackwardRequest& x);
[[nodiscard]] Result<std::string> to_json(const OptimStepRequest& x);
[[nodiscard]] std::string to_json(const SaveWeightsRequest& x);
[[nodiscard]] std::string to_json(const LoadWeightsRequest& x);
[[nodiscard]] std::string to_json(const SaveWeightsForSamplerRequest& x);
[[nodiscard]] std::string to_json(const SaveWeightsExternalRequest& x);

// Sampling.

[[nodiscard]] std::string to_json(const CreateSamplingSessionRequest& x);
[[nodiscard]] std::string to_json(const CreateSamplingSessionResponse& x);
[[nodiscard]] Result<std::string> to_json(const AsampleRequest& x);

// Futures and their results.

[[nodiscard]] std::string to_json(const FutureRef& x);
[[nodiscard]] std::string to_json(const RetrieveFutureRequest& x);
[[nodiscard]] std::string to_json(const CreateModelResponse& x);
[[nodiscard]] Result<std::string> to_json(const ForwardBackwardOutput& x);
[[nodiscard]] Result<std::string> to_json(const OptimStepResponse& x);
[[nodiscard]] std::string to_json(const SaveWeightsResponse& x);
[[nodiscard]] std::string to_json(const LoadWeightsResponse& x);
[[nodiscard]] std::string to_json(const SaveWeightsForSamplerResponse& x);
[[nodiscard]] std::string to_json(const SaveWeightsExternalResponse& x);
[[nodiscard]] std::string to_json(const UnloadModelResponse& x);
[[nodiscard]] Result<std::string> to_json(const SampleResponse& x);
[[nodiscard]] Result<std::string> to_json(const FutureValue& x);

/// Reads one body; specialised for each type that `to_json` takes, `FutureValue` excepted.
template <class T>
[[nodiscard]] Result<T> from_json(std::string_view json);

/// Reads the JSON result of an operation of that type.
[[nodiscard]] Result<FutureValue> future_value_from_json(RequestType type, std::string_view json);

/// Body of an error answer: `{"detail": …}`.
[[nodiscard]] std::string error_json(std::string_view detail);

// clang-format off
template <> Result<ClientConfigRequest> from_json(std::string_view);
template <> Result<ClientConfig> from_json(std::string_view);
template <> Result<DynamicConfig> from_json(std::string_view);
template <> Result<AuthTokenRequest> from_json(std::string_view);
template <> Result<AuthTokenResponse> from_json(std::string_view);
template <> Result<TelemetrySendRequest> from_json(std::string_view);
template <> Result<TelemetryResponse> from_json(std::string_view);
template <> Result<CreateSessionRequest> from_json(std::string_view);
template <> Result<CreateSessionResponse> from_json(std::string_view);
template <> Result<SessionHeartbeatRequest> from_json(std::string_view);
template <> Result<SessionHeartbeatResponse> from_json(std::string_view);
template <> Result<CreateModelRequest> from_json(std::string_view);
template <> Result<GetInfoRequest> from_json(std::string_view);
template <> Result<ModelInfo> from_json(std::string_view);
template <> Result<UnloadModelRequest> from_json(std::string_view);
template <> Result<ServerCapabilities> from_json(std::string_view);
template <> Result<ForwardBackwardRequest> from_json(std::string_view);
template <> Result<OptimStepRequest> from_json(std::string_view);
template <> Result<SaveWeightsRequest> from_json(std::string_view);
template <> Result<LoadWeightsRequest> from_json(std::string_view);
template <> Result<SaveWeightsForSamplerRequest> from_json(std::string_view);
template <> Result<SaveWeightsExternalRequest> from_json(std::string_view);
template <> Result<CreateSamplingSessionRequest> from_json(std::string_view);
template <> Result<CreateSamplingSessionResponse> from_json(std::string_view);
template <> Result<AsampleRequest> from_json(std::string_view);
template <> Result<FutureRef> from_json(std::string_view);
template <> Result<RetrieveFutureRequest> from_json(std::string_view);
template <> Result<CreateModelResponse> from_json(std::string_view);
template <> Result<ForwardBackwardOutput> from_json(std::string_view);
template <> Result<OptimStepResponse> from_json(std::string_view);
template <> Result<SaveWeightsResponse> from_json(std::string_view);
template <> Result<LoadWeightsResponse> from_json(std::string_view);
template <> Result<SaveWeightsForSamplerResponse> from_json(std::string_view);
template <> Result<UnloadModelResponse> from_json(std::string_view);
template <> Result<SampleResponse> from_json(std::string_view);
// clang-format on

} // namespace tinkaf::wire
