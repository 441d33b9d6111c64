// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/http/http_client.hpp"
#include "api/retry_policy.hpp"
#include "messages/rest_download.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>

namespace tinkaf {

/// Asks for an address to fetch an archive from; blocks.
using ArchiveUrlSource = std::function<Result<CheckpointArchiveUrlResponse>()>;

struct ArchiveDownloadOptions {
  /// Pauses and time limit of tries in a row that bring nothing new.
  RetryPolicy retry;

  /// A try ends where nothing has come for this long, and for up to five seconds more, over which
  /// libcurl measures.
  std::chrono::seconds stall_timeout{60};

  /// An archive beyond this is refused.
  std::int64_t max_bytes = std::int64_t{1} << 40U;

  /// Addresses to ask for, the first one included, before a refusal by the server is final.
  int max_urls = 3;

  DownloadProgressSink progress;
};

/// Fetches an archive into a file; blocks, and stops soon after `stop` asks for it.
///
/// What has come is kept over broken connections: the next try asks for the rest, on the condition
/// that the archive is still the same, and starts afresh where the server cannot do that. An
/// address that has ended to work is replaced by a new one. The length is checked against what the
/// server announced. Neither a credential nor a cookie is sent: the addresses are signed, and of
/// other origins.
///
/// @param client without a credential, best with no other work, since disk writes hold it up
/// @param file is created, or emptied
/// @returns the number of bytes; an error never holds the address or a part of the server's answer
[[nodiscard]] Result<std::int64_t> download_archive(HttpClient& client,
                                                    const ArchiveUrlSource& source,
                                                    const std::filesystem::path& file,
                                                    const ArchiveDownloadOptions& options,
                                                    const std::stop_token& stop);

} // namespace tinkaf
