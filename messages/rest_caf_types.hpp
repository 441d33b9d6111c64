// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/rest_download.hpp"
#include "messages/rest_requests.hpp"
#include "messages/rest_usage.hpp"

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/atom.hpp>
#include <caf/type_id.hpp>

// Type ids of the REST messages; a block of its own with room below it for the others.

CAF_BEGIN_TYPE_ID_BLOCK(tinkaf_rest, caf::first_custom_type_id + 1000)

  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::AssignSessionProject))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::AuditLogResponse))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::BillingUsageResponse))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::CheckpointArchiveUrlResponse))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::CheckpointsListResponse))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::DeleteCheckpoint))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::Done))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::DownloadCheckpoint))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::DownloadedCheckpoint))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::ExportSessionTrace))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::GetAuditLog))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::GetBillingUsage))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::GetCheckpointArchiveUrl))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::GetSampler))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::GetSamplerResponse))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::GetSession))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::GetSessionResponse))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::GetTrainingRun))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::ListCheckpoints))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::ListSessions))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::ListSessionsResponse))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::ListTrainingRuns))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::ListUserCheckpoints))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::PublishCheckpoint))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::SetCheckpointTtl))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::TrainingRun))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::TrainingRunsResponse))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::UnpublishCheckpoint))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::WeightsInfoRequest))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::WeightsInfoResponse))
  CAF_ADD_TYPE_ID(tinkaf_rest, (tinkaf::WhoamiResponse))

  CAF_ADD_ATOM(tinkaf_rest, tinkaf::atom, rest_client, "restclient")
  CAF_ADD_ATOM(tinkaf_rest, tinkaf::atom, wake, "wake")
  CAF_ADD_ATOM(tinkaf_rest, tinkaf::atom, whoami, "whoami")

CAF_END_TYPE_ID_BLOCK(tinkaf_rest)

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::AssignSessionProject)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::AuditLogResponse)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::BillingUsageResponse)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::CheckpointArchiveUrlResponse)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::CheckpointsListResponse)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::DeleteCheckpoint)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::Done)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::DownloadCheckpoint)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::DownloadedCheckpoint)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::ExportSessionTrace)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::GetAuditLog)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::GetBillingUsage)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::GetCheckpointArchiveUrl)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::GetSampler)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::GetSamplerResponse)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::GetSession)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::GetSessionResponse)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::GetTrainingRun)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::ListCheckpoints)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::ListSessions)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::ListSessionsResponse)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::ListTrainingRuns)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::ListUserCheckpoints)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::PublishCheckpoint)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::SetCheckpointTtl)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::TrainingRun)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::TrainingRunsResponse)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::UnpublishCheckpoint)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::WeightsInfoRequest)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::WeightsInfoResponse)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::WhoamiResponse)
