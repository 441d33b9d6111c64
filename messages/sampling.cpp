// SPDX-License-Identifier: Apache-2.0
#include "messages/sampling.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>

namespace tinkaf {

namespace {

/// @param where names the tokens, for the error
Result<void> check_tokens(const std::string& where, const std::vector<Token>& tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] < 0)
      return fail(Errc::invalid_argument,
                  fmt::format("{}[{}] is {}, but must be at least 0", where, i, tokens[i]));
  return {};
}

Result<void> check_stop(const Stop& stop) {
  auto empty = [](const std::string& where) {
    return fail(Errc::invalid_argument, where + " is empty, but must have at least one character");
  };
  if (const auto* text = std::get_if<std::string>(&stop); text != nullptr && text->empty())
    return empty("sampling_params.stop");
  if (const auto* texts = std::get_if<std::vector<std::string>>(&stop))
    for (std::size_t i = 0; i < texts->size(); ++i)
      if ((*texts)[i].empty())
        return empty(fmt::format("sampling_params.stop[{}]", i));
  if (const auto* tokens = std::get_if<std::vector<Token>>(&stop))
    return check_tokens("sampling_params.stop", *tokens);
  return {};
}

/// Text has tokens, none of them negative; what is in other chunks the service knows.
Result<void> check_prompt(const ModelInput& prompt) {
  auto text_only = true;
  std::size_t count = 0;
  for (std::size_t i = 0; i < prompt.chunks.size(); ++i) {
    const auto* text = std::get_if<EncodedTextChunk>(&prompt.chunks[i]);
    text_only = text_only && text != nullptr;
    if (text == nullptr)
      continue;
    count += text->tokens.size();
    if (auto checked = check_tokens(fmt::format("prompt.chunks[{}].tokens", i), text->tokens);
        !checked)
      return checked;
  }
  if (text_only && count == 0)
    return fail(Errc::invalid_argument, "prompt is empty, but must have at least one token");
  return {};
}

} // namespace

Result<void> validate(const SamplingParams& p) {
  auto bad = [](const char* name, auto value, const char* range) {
    return fail(Errc::invalid_argument,
                fmt::format("sampling_params.{} is {}, but must be {}", name, value, range));
  };
  if (p.max_tokens && *p.max_tokens < 1)
    return bad("max_tokens", *p.max_tokens, "at least 1");
  if (!std::isfinite(p.temperature) || p.temperature < 0)
    return bad("temperature", p.temperature, "at least 0");
  if (p.top_k < -1)
    return bad("top_k", p.top_k, "-1 (off) or at least 0");
  if (!std::isfinite(p.top_p) || p.top_p <= 0 || p.top_p > 1)
    return bad("top_p", p.top_p, "in (0, 1]");
  return check_stop(p.stop);
}

Result<void> validate(const SampleRequest& request) {
  if (auto checked = check_prompt(request.prompt); !checked)
    return checked;
  if (request.num_samples < 1)
    return fail(Errc::invalid_argument,
                fmt::format("num_samples is {}, but must be at least 1", request.num_samples));
  if (request.topk_prompt_logprobs < 0)
    return fail(Errc::invalid_argument,
                fmt::format("topk_prompt_logprobs is {}, but must be at least 0",
                            request.topk_prompt_logprobs));
  return validate(request.sampling_params);
}

const char* to_string(StopReason reason) noexcept {
  return reason == StopReason::stop ? "stop" : "length";
}

} // namespace tinkaf
