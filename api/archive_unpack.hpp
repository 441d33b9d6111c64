// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stop_token>

namespace tinkaf {

/// How much an archive may hold; guards the disk against one that unpacks without an end.
struct UnpackLimits {
  std::size_t max_entries = 10'000;
  std::int64_t max_entry_bytes = std::int64_t{1} << 39U;
  std::int64_t max_total_bytes = std::int64_t{1} << 40U;
};

struct Unpacked {
  std::size_t files = 0;
  std::int64_t bytes = 0;
};

/// Unpacks a tar archive, plain or gzipped, into an empty folder of its own.
///
/// Takes regular files and folders only. Refused with `Errc::protocol_error` that names the entry:
/// absolute paths, `..`, symbolic and hard links, devices, pipes, a path that comes twice, and more
/// or larger entries than the limits allow. Of rights, owners and times nothing is taken over. An
/// archive that ends too early or holds no file is an error too. What has been unpacked before an
/// error stays: the caller drops the folder.
///
/// @returns also `Errc::io_error` naming the file, `Errc::cancelled`
[[nodiscard]] Result<Unpacked> unpack_archive(const std::filesystem::path& archive,
                                              const std::filesystem::path& folder,
                                              const UnpackLimits& limits,
                                              const std::stop_token& stop);

} // namespace tinkaf
