// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/http/http_message.hpp"
#include "messages/error.hpp"
#include "messages/rest_requests.hpp"
#include "messages/rest_usage.hpp"

#include <chrono>

// The REST calls as HTTP requests, without credentials. Everything is checked here, before anything
// is sent: `Errc::invalid_argument` names the field and its value.

namespace tinkaf {

/// A call to make.
struct RestCall {
  /// Its name for messages, for example "publish_checkpoint".
  const char* what = "";

  HttpRequest request;
};

[[nodiscard]] Result<RestCall> rest_call(const GetTrainingRun& x);
[[nodiscard]] Result<RestCall> rest_call(const ListTrainingRuns& x);
[[nodiscard]] Result<RestCall> rest_call(const ListCheckpoints& x);
[[nodiscard]] Result<RestCall> rest_call(const ListUserCheckpoints& x);
[[nodiscard]] Result<RestCall> rest_call(const DeleteCheckpoint& x);
[[nodiscard]] Result<RestCall> rest_call(const PublishCheckpoint& x);
[[nodiscard]] Result<RestCall> rest_call(const UnpublishCheckpoint& x);
[[nodiscard]] Result<RestCall> rest_call(const SetCheckpointTtl& x);
[[nodiscard]] Result<RestCall> rest_call(const WeightsInfoRequest& x);
[[nodiscard]] Result<RestCall> rest_call(const GetSession& x);
[[nodiscard]] Result<RestCall> rest_call(const ListSessions& x);
[[nodiscard]] Result<RestCall> rest_call(const AssignSessionProject& x);
[[nodiscard]] Result<RestCall> rest_call(const ExportSessionTrace& x);
[[nodiscard]] Result<RestCall> rest_call(const GetSampler& x);
[[nodiscard]] Result<RestCall> rest_call(const GetAuditLog& x);
[[nodiscard]] Result<RestCall> rest_call(const GetBillingUsage& x);

/// Its redirect is the answer, so that none is followed.
[[nodiscard]] Result<RestCall> rest_call(const GetCheckpointArchiveUrl& x);

/// Reads the answer to `GetCheckpointArchiveUrl`: a redirect, or a body that says the same.
/// @param asked the address that was asked, for a `Location` that is relative to it
/// @param now counts where the answer does not say when the URL ends: 15 minutes from then on
/// @returns `Errc::protocol_error`, which never holds the URL
[[nodiscard]] Result<CheckpointArchiveUrlResponse>
read_archive_url(const HttpResponse& response, const std::string& asked, Timestamp now);

/// Checks a span of `GetBillingUsage`.
[[nodiscard]] Result<void> check(const GetBillingUsage& x);

} // namespace tinkaf
