// SPDX-License-Identifier: Apache-2.0
#include "messages/sampling.hpp"

#include <fmt/format.h>

#include <cmath>

namespace tinkaf {

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
  return {};
}

Result<void> validate(const SampleRequest& request) {
  if (request.prompt.chunks.empty())
    return fail(Errc::invalid_argument, "prompt is empty");
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
