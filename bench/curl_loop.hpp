// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace tinkaf::bench {

/// Submits and polls `count` samples, `in_flight` at a time, by a bare libcurl multi loop on this
/// thread: what cannot be done faster with the same library.
/// @returns seconds; negative if a request failed
[[nodiscard]] double curl_loop(const std::string& url, std::size_t count, std::size_t in_flight);

} // namespace tinkaf::bench
