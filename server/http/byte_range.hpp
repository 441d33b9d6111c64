// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace tinkaf::server {

/// Which part of something is asked for.
struct ByteRange {
  enum class Kind : std::uint8_t {
    /// All of it.
    whole,
    part,
    /// None that there is.
    outside,
  };

  Kind kind = Kind::whole;
  std::uint64_t first = 0;
  std::uint64_t size = 0;

  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

/// Reads a `Range` header (RFC 9110, 14.2). One that is missing or malformed, or asks for several
/// ranges, asks for the whole.
/// @param size of the whole
[[nodiscard]] ByteRange read_range(std::string_view header, std::uint64_t size) noexcept;

} // namespace tinkaf::server
