// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/timestamp.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace tinkaf::wire {

/// Reads a time as RFC 3339 has it, for example "2026-03-04T05:06:07.25+01:00".
///
/// Years 1 to 9999. Digits of a fraction beyond the sixth are cut, and a leap second counts as the
/// next minute's first. A time without a zone is taken for UTC, which is how Python writes those
/// that it believes to be UTC; a blank may stand for the `T`.
[[nodiscard]] std::optional<Timestamp> parse_rfc3339(std::string_view text) noexcept;

/// Writes a time in UTC, with a fraction only if it has one: "2026-03-04T05:06:07Z".
[[nodiscard]] std::string to_rfc3339(Timestamp time);

/// Reads a number as a time: seconds since 1970, or milliseconds if beyond 2e10 either way.
///
/// The limit between the two is that of the service's own models (pydantic).
/// @returns nothing for what is not finite or outside the years 1 to 9999
[[nodiscard]] std::optional<Timestamp> from_unix_number(double number) noexcept;

} // namespace tinkaf::wire
