// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/wire/json.hpp"
#include "messages/rest_checkpoints.hpp"
#include "messages/rest_runs.hpp"
#include "messages/rest_usage.hpp"

#include <string>
#include <string_view>

// The JSON bodies of the REST calls, by the rules of `api/wire/json.hpp`.
//
// Times are written as RFC 3339 and read as that or as a Unix number. A removed time to live is an
// explicit null, and must be one: a body without the field is refused. What an account used
// (`event_info`) is read strictly, so that no bill is incomplete without a word: an unknown kind or
// field is an error.

namespace tinkaf::wire {

[[nodiscard]] std::string to_json(const Checkpoint& x);
[[nodiscard]] std::string to_json(const CheckpointsListResponse& x);
[[nodiscard]] std::string to_json(const CheckpointTtlRequest& x);
[[nodiscard]] std::string to_json(const CheckpointArchiveUrlResponse& x);
[[nodiscard]] std::string to_json(const WeightsInfoRequest& x);
[[nodiscard]] std::string to_json(const WeightsInfoResponse& x);

[[nodiscard]] std::string to_json(const TrainingRun& x);
[[nodiscard]] std::string to_json(const TrainingRunsResponse& x);
[[nodiscard]] std::string to_json(const ListSessionsResponse& x);
[[nodiscard]] std::string to_json(const GetSessionResponse& x);
[[nodiscard]] std::string to_json(const AssignSessionProjectRequest& x);
[[nodiscard]] std::string to_json(const GetSamplerResponse& x);
[[nodiscard]] std::string to_json(const TraceExportResponse& x);

[[nodiscard]] std::string to_json(const AuditLogResponse& x);
[[nodiscard]] Result<std::string> to_json(const BillingUsageResponse& x);

// clang-format off
template <> Result<Checkpoint> from_json(std::string_view);
template <> Result<CheckpointsListResponse> from_json(std::string_view);
template <> Result<CheckpointTtlRequest> from_json(std::string_view);
template <> Result<CheckpointArchiveUrlResponse> from_json(std::string_view);
template <> Result<WeightsInfoRequest> from_json(std::string_view);
template <> Result<WeightsInfoResponse> from_json(std::string_view);
template <> Result<TrainingRun> from_json(std::string_view);
template <> Result<TrainingRunsResponse> from_json(std::string_view);
template <> Result<ListSessionsResponse> from_json(std::string_view);
template <> Result<GetSessionResponse> from_json(std::string_view);
template <> Result<AssignSessionProjectRequest> from_json(std::string_view);
template <> Result<GetSamplerResponse> from_json(std::string_view);
template <> Result<TraceExportResponse> from_json(std::string_view);
template <> Result<AuditLogResponse> from_json(std::string_view);
template <> Result<BillingUsageResponse> from_json(std::string_view);
// clang-format on

} // namespace tinkaf::wire
