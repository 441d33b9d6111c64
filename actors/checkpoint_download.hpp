// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/http/http_client.hpp"
#include "api/retry_policy.hpp"
#include "messages/interfaces.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <chrono>
#include <stop_token>

namespace tinkaf {

/// Downloads one checkpoint, then stops. Blocks its thread, so it is spawned detached; ends soon
/// after its owner asks for a stop.
using CheckpointDownloadActor = caf::typed_actor<
    // Answers once the files are in place.
    Handles<DownloadedCheckpoint(DownloadCheckpoint)>>;

/// What a download is started with.
struct CheckpointDownloadSettings {
  /// Who is asked for addresses.
  RestClientActor rest;

  /// For an HTTP client of its own, which has no credential.
  HttpClientOptions http;

  RetryPolicy retry;

  /// A try ends where nothing has come for this long.
  std::chrono::seconds stall_timeout{60};

  std::stop_token stop;
};

CheckpointDownloadActor::behavior_type checkpoint_download(CheckpointDownloadActor::pointer self,
                                                           CheckpointDownloadSettings settings);

} // namespace tinkaf
