// SPDX-License-Identifier: Apache-2.0
#include "server/model/engine.hpp"
#include "server/model/engine_input.hpp"

#include <fmt/format.h>

#include <random>
#include <variant>

namespace tinkaf::model {

Result<std::size_t> token_limit(const BaseModel& base, std::size_t prompt,
                                const SamplingParams& params) {
  const auto window = base.max_context_length();
  const auto wanted = static_cast<std::size_t>(params.max_tokens.value_or(1));
  if (prompt + wanted > window)
    return fail(Errc::invalid_argument,
                fmt::format("Prompt length plus max_tokens exceeds the model's context window: "
                            "{} + {} > {}",
                            prompt, wanted, window));
  return params.max_tokens ? wanted : window - prompt;
}

Result<std::vector<std::int32_t>> read_prompt(const BaseModel& base, const SampleRequest& request) {
  if (auto good = validate(request); !good)
    return fail(good.error());
  if (const auto* ids = std::get_if<std::vector<Token>>(&request.sampling_params.stop))
    for (const auto id : *ids)
      if (id < 0 || static_cast<std::size_t>(id) >= base.vocab_size())
        return fail(Errc::invalid_argument,
                    fmt::format("sampling_params.stop: token {} is outside the vocabulary of {}",
                                id, base.vocab_size()));
  return tokens_of(base, request.prompt, "prompt");
}

Result<void> check_sample(const BaseModel& base, const SampleRequest& request) {
  const auto prompt = read_prompt(base, request);
  if (!prompt)
    return fail(prompt.error());
  const auto limit = token_limit(base, prompt->size(), request.sampling_params);
  if (!limit)
    return fail(limit.error());
  return {};
}

void fix_seed(SampleRequest& request) {
  if (!request.sampling_params.seed)
    request.sampling_params.seed = static_cast<std::int64_t>(std::random_device{}() & 0x7FFFFFFF);
}

} // namespace tinkaf::model
