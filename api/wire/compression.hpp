// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <cstddef>
#include <string>
#include <string_view>

namespace tinkaf::wire {

/// Packs a body as one zstd frame.
[[nodiscard]] Result<std::string> zstd_compress(std::string_view bytes);

/// Packs a body with gzip.
[[nodiscard]] Result<std::string> gzip_compress(std::string_view bytes);

/// Unpacks a body by its `Content-Encoding`: "zstd", "gzip", "deflate", "identity" or empty.
/// @param max_bytes a result beyond this is refused, however small the body
/// @returns `Errc::invalid_argument` for another encoding, a damaged body, or one that is too large
///   (with HTTP status 413, for servers)
[[nodiscard]] Result<std::string> decompress(std::string_view encoding, std::string_view bytes,
                                             std::size_t max_bytes);

} // namespace tinkaf::wire
