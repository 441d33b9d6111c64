// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rapidjson/document.h>
#include <tl/expected.hpp>

#include <string_view>

namespace tinkaf::wire {

/// Parses one JSON text, without recursion; only well-formed UTF-8 is taken.
///
/// Each number is the nearest double, or an integer where it has neither point nor exponent and
/// fits 64 bits. RapidJSON 1.1 itself is a bit off now and then even at full precision, takes a
/// zero with an exponent for anything, and some numbers beyond a double for small ones.
[[nodiscard]] tl::expected<rapidjson::Document, rapidjson::ParseResult>
parse_document(std::string_view json);

} // namespace tinkaf::wire
