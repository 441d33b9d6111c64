// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace tinkaf::server {

/// Takes the files of the given names out of a tar, packed or not, into a folder that is made.
/// They may lie at its top or all in one folder. Other files are skipped; links, devices and names
/// that lead out of it are refused.
/// @param most bytes of all these files together, unpacked
/// @returns `Errc::invalid_argument` if one is missing, twice or too large,
///   `Errc::io_error`
[[nodiscard]] Result<void> untar(std::string_view tar, std::span<const std::string> names,
                                 std::size_t most, const std::filesystem::path& folder);

} // namespace tinkaf::server
