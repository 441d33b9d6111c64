// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace tinkaf::server {

/// A random UUID of version 4.
[[nodiscard]] std::string make_uuid();

/// Text that nobody guesses: 128 random bits in hexadecimal.
[[nodiscard]] std::string make_secret();

/// A seed for a request that has none; 31 bits.
[[nodiscard]] std::int64_t draw_seed();

} // namespace tinkaf::server
