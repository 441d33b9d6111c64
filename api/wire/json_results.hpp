// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/future.hpp"

#include <rapidjson/document.h>

namespace tinkaf::wire {

/// Reads the JSON result of an operation of that type from a parsed body.
[[nodiscard]] Result<FutureValue> read_future_value(RequestType type, const rapidjson::Value& body);

} // namespace tinkaf::wire
