// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/archive_download.hpp"
#include "api/archive_unpack.hpp"

#include <filesystem>
#include <stop_token>

namespace tinkaf {

/// Downloads a checkpoint and unpacks it into `request.destination`; blocks.
///
/// Everything happens in a hidden folder beside the destination, which takes the destination's
/// place once all files are there: a failure leaves nothing behind, and an old folder as it was.
/// @returns `Errc::invalid_argument`, before anything is sent, if the destination is there and
///   `force` is not set, or if it is no folder
[[nodiscard]] Result<DownloadedCheckpoint>
download_checkpoint(HttpClient& client, const ArchiveUrlSource& source,
                    const DownloadCheckpoint& request, const ArchiveDownloadOptions& options,
                    const UnpackLimits& limits, const std::stop_token& stop);

} // namespace tinkaf
