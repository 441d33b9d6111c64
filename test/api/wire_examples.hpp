// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rapidjson/document.h>

#include <string>
#include <string_view>
#include <vector>

namespace tinkaf::test {

/// The text of test/data/wire-examples/`name`; fails the test if there is none.
[[nodiscard]] std::string example(std::string_view name);

/// The same, parsed.
[[nodiscard]] rapidjson::Document example_json(std::string_view name);

[[nodiscard]] rapidjson::Document parse(std::string_view json);

/// Names of all files there, sorted.
[[nodiscard]] std::vector<std::string> example_names();

/// The value with nulls left out and keys sorted, as compact JSON: equal bodies have equal text.
[[nodiscard]] std::string canonical(const rapidjson::Value& value);
[[nodiscard]] std::string canonical(std::string_view json);

[[nodiscard]] std::string from_hex(std::string_view hex);
[[nodiscard]] std::string to_hex(std::string_view bytes);

} // namespace tinkaf::test
