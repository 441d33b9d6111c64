// SPDX-License-Identifier: Apache-2.0
#include "train/policy_batch.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace tinkaf::train {

namespace {

/// Values of an answer's tokens, behind zeros for what is predicted of the prompt.
template <class T, class Values>
TensorData padded(std::size_t before, const Values& values) {
  auto result = std::vector<T>(before);
  result.insert(result.end(), values.begin(), values.end());
  return TensorData::of(std::move(result));
}

} // namespace

Result<void> check_answer(const SampledSequence& answer) {
  if (answer.tokens.empty())
    return fail(Errc::protocol_error, "a sample came back without tokens");
  if (!answer.logprobs || answer.logprobs->size() != answer.tokens.size())
    return fail(Errc::protocol_error,
                fmt::format("a sample of {} tokens came back with {} log-probabilities",
                            answer.tokens.size(), answer.logprobs ? answer.logprobs->size() : 0));
  return {};
}

Datum policy_datum(const Rollout& rollout) {
  auto input = std::vector<Token>{rollout.prompt.begin(), rollout.prompt.end()};
  const auto& tokens = rollout.answer.tokens;
  input.insert(input.end(), tokens.begin(), tokens.end() - 1);
  const auto before = rollout.prompt.size() - 1;
  return {.model_input = ModelInput::from_ints(std::move(input)),
          .loss_fn_inputs = {{"target_tokens", padded<std::int64_t>(before, tokens)},
                             {"logprobs", padded<float>(before, *rollout.answer.logprobs)},
                             {"advantages", padded<float>(before, rollout.advantages)}}};
}

Result<SampleTrainKl> measure_kl(std::span<const Rollout> rollouts,
                                 const ForwardBackwardOutput& output) {
  if (output.loss_fn_outputs.size() != rollouts.size())
    return fail(Errc::protocol_error, fmt::format("{} answers were sent, but {} outputs came back",
                                                  rollouts.size(), output.loss_fn_outputs.size()));
  auto sum = 0.0;
  auto squares = 0.0;
  auto count = 0.0;
  for (std::size_t index = 0; index < rollouts.size(); ++index) {
    const auto& sampled = *rollouts[index].answer.logprobs;
    const auto before = rollouts[index].prompt.size() - 1;
    const auto& fields = output.loss_fn_outputs[index];
    const auto found = fields.find("logprobs");
    const auto* trained = found == fields.end() ? nullptr : found->second.floats();
    if (trained == nullptr || trained->size() != before + sampled.size())
      return fail(Errc::protocol_error, fmt::format("output {} has no \"logprobs\" for its {} "
                                                    "tokens",
                                                    index, before + sampled.size()));
    for (std::size_t at = 0; at < sampled.size(); ++at) {
      const auto difference = double{sampled[at]} - double{(*trained)[before + at]};
      sum += difference;
      squares += difference * difference;
      count += 1.0;
    }
  }
  if (count == 0.0)
    return SampleTrainKl{std::numeric_limits<double>::quiet_NaN(),
                         std::numeric_limits<double>::quiet_NaN()};
  return SampleTrainKl{sum / count, squares / count / 2};
}

} // namespace tinkaf::train
