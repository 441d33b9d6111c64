// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <filesystem>
#include <string>

namespace tinkaf::cli {

/// Reads the key that a server wants from its clients: the only line of a file, without blanks.
/// @returns `Errc::io_error` if the file cannot be read; `Errc::invalid_argument` if others than
///   its owner may read it, or it holds no key. No message holds what stands in the file.
[[nodiscard]] Result<std::string> read_api_key(const std::filesystem::path& file);

} // namespace tinkaf::cli
