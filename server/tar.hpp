// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "messages/timestamp.hpp"

#include <filesystem>
#include <span>

namespace tinkaf::server {

/// Packs the files of a folder, without those of folders in it, and behind them an empty one called
/// `checkpoint_complete`. The same files and time make the same bytes.
/// @param time what the archive tells as the time of each file
/// @returns `Errc::io_error` naming the file and the reason
[[nodiscard]] Result<void> write_tar(const std::filesystem::path& folder, Timestamp time,
                                     const std::filesystem::path& archive);

/// Packs some files, without the empty one.
[[nodiscard]] Result<void> write_tar(std::span<const std::filesystem::path> files, Timestamp time,
                                     const std::filesystem::path& archive);

} // namespace tinkaf::server
