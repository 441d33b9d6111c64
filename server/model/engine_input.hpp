// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/model_input.hpp"
#include "server/model/base_model.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace tinkaf::model {

/// The tokens of an input.
/// @param field what to call the input in errors
/// @returns `Errc::invalid_argument` if it is empty, holds more than text, or a token is outside
///          the vocabulary
[[nodiscard]] Result<std::vector<std::int32_t>>
tokens_of(const BaseModel& base, const ModelInput& input, const std::string& field);

} // namespace tinkaf::model
