// SPDX-License-Identifier: Apache-2.0
#include "server/model/decoder.hpp"
#include "server/model/engine.hpp"
#include "server/model/engine_input.hpp"
#include "server/model/random.hpp"
#include "server/model/token_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <utility>

namespace tinkaf::model {

namespace {

/// Knows when a sample is complete.
class StopRule {
public:
  StopRule(const BaseModel& base, const Stop& stop) : base_(base) {
    if (const auto* one = std::get_if<std::string>(&stop))
      texts_ = {*one};
    else if (const auto* several = std::get_if<std::vector<std::string>>(&stop))
      texts_ = *several;
    else if (const auto* ids = std::get_if<std::vector<Token>>(&stop))
      tokens_ = *ids;
    std::erase(texts_, std::string{});
    for (const auto& x : texts_)
      longest_ = std::max(longest_, x.size());
  }

  /// Looks at the next token of the sample; true if it completes the sample.
  bool ends(Token token) {
    const auto& ends = base_.config().eos_token_ids;
    if (std::find(ends.begin(), ends.end(), token) != ends.end()
        || std::find(tokens_.begin(), tokens_.end(), token) != tokens_.end())
      return true;
    if (texts_.empty())
      return false;
    // A text may span tokens, but what was searched before need not be searched again.
    tail_ += base_.tokenizer().token_bytes(token);
    for (const auto& x : texts_)
      if (tail_.find(x) != std::string::npos)
        return true;
    if (tail_.size() >= longest_)
      tail_.erase(0, tail_.size() - (longest_ - 1));
    return false;
  }

private:
  const BaseModel& base_;
  std::vector<std::string> texts_;
  std::vector<Token> tokens_;
  std::size_t longest_ = 0;
  std::string tail_;
};

/// Draws one continuation; `decoder` has read the prompt. Ends early when asked to stop.
SampledSequence draw(const BaseModel& base, Decoder decoder, const SamplingParams& params,
                     std::size_t max_tokens, std::uint64_t seed, const std::stop_token& stop) {
  SampledSequence out;
  out.logprobs.emplace();
  StopRule rule{base, params.stop};
  Random random{seed};
  while (!stop.stop_requested()) {
    const auto logits = decoder.logits();
    const auto token = pick(candidates(logits, params), random.uniform());
    out.tokens.push_back(token);
    out.logprobs->push_back(tempered_logprob(logits, token, params.temperature));
    if (rule.ends(token)) {
      out.stop_reason = StopReason::stop;
      break;
    }
    if (out.tokens.size() == max_tokens)
      break;
    decoder.read(token);
  }
  return out;
}

void add_prompt_logprobs(SequencePass& pass, const WeightsView& view,
                         std::span<const std::int32_t> prompt, const SampleRequest& request,
                         SampleResponse& out) {
  const auto k = static_cast<std::size_t>(request.topk_prompt_logprobs);
  if (request.include_prompt_logprobs)
    out.prompt_logprobs.emplace(1);
  if (k > 0)
    out.topk_prompt_logprobs.emplace(1);
  if (!request.include_prompt_logprobs && k == 0)
    return;
  pass.read_logits(view, [&](std::size_t i, std::span<float> row) {
    if (i + 1 == prompt.size())
      return;
    if (out.prompt_logprobs)
      out.prompt_logprobs->push_back(tempered_logprob(row, prompt[i + 1], 1.0));
    if (out.topk_prompt_logprobs)
      out.topk_prompt_logprobs->push_back(likeliest(row, k));
  });
}

/// New tokens that the request allows, or what is wrong with it.
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

} // namespace

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

Result<SampleResponse> sample(const BaseModel& base,
                              const std::shared_ptr<const AdapterWeights>& weights,
                              const SampleRequest& request, ThreadPool& pool,
                              std::stop_token stop) {
  const auto prompt = read_prompt(base, request);
  if (!prompt)
    return fail(prompt.error());
  const auto limit = token_limit(base, prompt->size(), request.sampling_params);
  if (!limit)
    return fail(limit.error());
  auto seeded = request;
  fix_seed(seeded);
  const auto seed = static_cast<std::uint64_t>(*seeded.sampling_params.seed);
  const auto view = weights ? weights->view() : base.view();

  SampleResponse out;
  SequencePass pass;
  pass.forward(view, base.rope(), *prompt, &pool);
  add_prompt_logprobs(pass, view, *prompt, request, out);
  Decoder decoder{view, base.rope(), prompt->size() + *limit};
  decoder.start(pass);
  out.sequences.resize(static_cast<std::size_t>(request.num_samples));
  pool.run(out.sequences.size(), [&](std::size_t i) {
    out.sequences[i] = draw(base, decoder, request.sampling_params, *limit, mix(seed, i), stop);
  });
  if (stop.stop_requested())
    return fail(Errc::cancelled, "stopped before all samples were complete");
  return out;
}

} // namespace tinkaf::model
