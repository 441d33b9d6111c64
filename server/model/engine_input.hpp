// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/model_input.hpp"
#include "messages/sampling.hpp"
#include "server/model/base_model.hpp"

#include <cstddef>
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

/// The tokens of a sample's prompt, once the request has been checked.
/// @returns `Errc::invalid_argument`
[[nodiscard]] Result<std::vector<std::int32_t>> read_prompt(const BaseModel& base,
                                                            const SampleRequest& request);

/// New tokens that the request allows behind a prompt of so many, or what is wrong with it.
[[nodiscard]] Result<std::size_t> token_limit(const BaseModel& base, std::size_t prompt,
                                              const SamplingParams& params);

} // namespace tinkaf::model
