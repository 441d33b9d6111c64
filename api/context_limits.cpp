// SPDX-License-Identifier: Apache-2.0
#include "api/context_limits.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tinkaf {

ContextLimits::ContextLimits(const ServerCapabilities& capabilities) {
  for (const auto& model : capabilities.supported_models)
    if (model.max_context_length && *model.max_context_length > 0)
      by_model_.emplace(model.model_name, *model.max_context_length);
}

std::optional<std::int64_t> ContextLimits::of(const std::string& base_model) const {
  auto found = by_model_.find(base_model);
  if (found == by_model_.end())
    return std::nullopt;
  return found->second;
}

std::optional<std::int64_t> ContextLimits::least() const {
  auto found = std::min_element(by_model_.begin(), by_model_.end(),
                                [](const auto& a, const auto& b) { return a.second < b.second; });
  if (found == by_model_.end())
    return std::nullopt;
  return found->second;
}

std::int64_t known_length(const ModelInput& input) {
  std::int64_t tokens = 0;
  for (const auto& chunk : input.chunks)
    tokens += length(chunk).value_or(0);
  return tokens;
}

std::int64_t known_length(const SampleRequest& request) {
  return known_length(request.prompt) + request.sampling_params.max_tokens.value_or(1);
}

Result<void> check_lengths(const Batch& data, std::int64_t limit) {
  for (std::size_t i = 0; i < data->size(); ++i)
    if (auto tokens = known_length((*data)[i].model_input); tokens > limit)
      return fail(Errc::invalid_argument,
                  fmt::format("data[{}].model_input has {} tokens, but the model takes at most {} "
                              "(its max_context_length)",
                              i, tokens, limit));
  return {};
}

Result<void> check_length(const SampleRequest& request, std::int64_t limit) {
  if (known_length(request) <= limit)
    return {};
  const auto& max_tokens = request.sampling_params.max_tokens;
  return fail(Errc::invalid_argument,
              fmt::format("prompt has {} tokens and {}, but the model takes at most {} together "
                          "(its max_context_length)",
                          known_length(request.prompt),
                          max_tokens ? fmt::format("sampling_params.max_tokens is {}", *max_tokens)
                                     : std::string{"at least one is to be sampled"},
                          limit));
}

} // namespace tinkaf
