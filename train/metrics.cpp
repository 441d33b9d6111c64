// SPDX-License-Identifier: Apache-2.0
#include "train/metrics.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace tinkaf::train {

namespace {

/// Sums over one batch.
struct Sums {
  double weighted_logprob = 0.0;
  double weight = 0.0;
  double text_logprob = 0.0;
  double text_bytes = 0.0;
};

double ratio(double numerator, double denominator) {
  return denominator == 0.0 ? std::numeric_limits<double>::quiet_NaN() : numerator / denominator;
}

} // namespace

Result<BatchMetrics> measure(std::span<const Example* const> batch,
                             const ForwardBackwardOutput& output) {
  const auto& outputs = output.loss_fn_outputs;
  if (outputs.size() != batch.size())
    return fail(Errc::protocol_error, fmt::format("{} examples were sent, but {} outputs came back",
                                                  batch.size(), outputs.size()));
  auto result = BatchMetrics{};
  auto sums = Sums{};
  result.num_sequences = batch.size();
  for (std::size_t index = 0; index < batch.size(); ++index) {
    const auto& example = *batch[index];
    const auto found = outputs[index].find("logprobs");
    const auto* logprobs = found == outputs[index].end() ? nullptr : found->second.floats();
    if (logprobs == nullptr || logprobs->size() != example.tokens())
      return fail(
          Errc::protocol_error,
          fmt::format("output {} has no \"logprobs\" for its {} tokens", index, example.tokens()));
    const auto& weights = *example.datum.loss_fn_inputs.at("weights").floats();
    result.num_tokens += static_cast<std::int64_t>(example.tokens());
    for (std::size_t at = 0; at < weights.size(); ++at) {
      const auto weight = double{weights[at]};
      const auto logprob = double{(*logprobs)[at]};
      if (weight <= 0.0)
        continue;
      ++result.num_loss_tokens;
      sums.weighted_logprob += weight * logprob;
      sums.weight += weight;
      if (example.target_bytes[at] > 0) {
        sums.text_logprob += logprob;
        sums.text_bytes += example.target_bytes[at];
      }
    }
  }
  result.train_mean_nll = ratio(-sums.weighted_logprob, sums.weight);
  result.train_mean_bpb = ratio(-sums.text_logprob, std::numbers::ln2 * sums.text_bytes);
  return result;
}

Columns columns_of(const BatchMetrics& batch, const Metrics& optimizer) {
  auto result = Columns{{"num_sequences", static_cast<std::int64_t>(batch.num_sequences)},
                        {"num_tokens", batch.num_tokens},
                        {"num_loss_tokens", batch.num_loss_tokens},
                        {"train_mean_nll", batch.train_mean_nll},
                        {"train_mean_bpb", batch.train_mean_bpb}};
  result.insert(result.end(), optimizer.begin(), optimizer.end());
  return result;
}

} // namespace tinkaf::train
