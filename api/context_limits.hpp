// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/datum.hpp"
#include "messages/error.hpp"
#include "messages/sampling.hpp"
#include "messages/session.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace tinkaf {

/// How many tokens the models of a service take, as far as it tells.
class ContextLimits {
public:
  ContextLimits() = default;
  explicit ContextLimits(const ServerCapabilities& capabilities);

  /// The limit of a base model by its name.
  [[nodiscard]] std::optional<std::int64_t> of(const std::string& base_model) const;

  /// The smallest limit of all: what fits it fits whatever the model is. Nothing if none is told.
  [[nodiscard]] std::optional<std::int64_t> least() const;

private:
  std::map<std::string, std::int64_t> by_model_;
};

/// Tokens of an input, without those that only the service knows.
[[nodiscard]] std::int64_t known_length(const ModelInput& input);

/// Tokens that a sample may come to: the prompt and `max_tokens`, or one token without that, as
/// the service counts them.
[[nodiscard]] std::int64_t known_length(const SampleRequest& request);

/// Checks that each datum fits into its model's context.
/// @returns `Errc::invalid_argument` naming the datum's index, its length and the limit
[[nodiscard]] Result<void> check_lengths(const Batch& data, std::int64_t limit);

/// Checks that prompt and new tokens fit into the model's context.
/// @returns `Errc::invalid_argument` naming both lengths and the limit
[[nodiscard]] Result<void> check_length(const SampleRequest& request, std::int64_t limit);

} // namespace tinkaf
