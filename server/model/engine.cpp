// SPDX-License-Identifier: Apache-2.0
#include "server/model/engine.hpp"

#include "server/model/engine_input.hpp"
#include "server/model/kernels.hpp"
#include "server/model/losses.hpp"
#include "server/model/token_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <utility>

namespace tinkaf::model {

namespace {

/// Data are dealt out to this many parts whatever the number of threads. Each part adds up its
/// gradient in order, and then the parts are added in order: the bits do not depend on threads.
constexpr std::size_t most_parts = 8;

/// One datum, checked and ready to run.
struct Example {
  std::vector<std::int32_t> tokens;
  LossInputs inputs;
};

Result<Example> read_example(const BaseModel& base, const Datum& datum, LossFn loss_fn,
                             std::size_t index) {
  const auto name = fmt::format("data[{}]", index);
  auto tokens = tokens_of(base, datum.model_input, name + ".model_input");
  if (!tokens)
    return fail(tokens.error());
  if (tokens->size() > base.max_context_length())
    return fail(Errc::invalid_argument,
                fmt::format("PromptTooLong: {}.model_input: {} tokens, more than the model's "
                            "context window of {}",
                            name, tokens->size(), base.max_context_length()));
  auto inputs = read_loss_inputs(datum, loss_fn, tokens->size(), base.vocab_size(), name);
  if (!inputs)
    return fail(inputs.error());
  return Example{std::move(*tokens), std::move(*inputs)};
}

/// What one datum gives back.
struct Outcome {
  std::vector<float> logprobs;
  std::vector<std::int64_t> topk_tokens; ///< [positions, topk_logprobs], likeliest first
  std::vector<float> topk_logprobs;
  double loss = 0.0;
  bool finite = true;
};

/// Notes the likeliest tokens of a position. A vocabulary with fewer is filled up by what nobody
/// takes for likely.
void add_likeliest(std::span<const float> row, std::size_t count, Outcome& out) {
  if (count == 0)
    return;
  auto top = likeliest(row, count);
  top.resize(count, {0, -99999.0F});
  for (const auto& [token, logprob] : top) {
    out.topk_tokens.push_back(token);
    out.topk_logprobs.push_back(logprob);
  }
}

/// Reads the loss off the logits of the last forward pass; with a sink, goes on with their gradient
/// through the output head.
Outcome read_loss(SequencePass& pass, const WeightsView& weights, LossFn loss_fn,
                  const LossSettings& settings, const LossInputs& inputs,
                  const GradientSink* sink) {
  Outcome out;
  out.logprobs.reserve(inputs.targets.size());
  const auto k = inputs.per_position;
  std::vector<float> gradients(k);
  const auto read = [&](std::size_t i, std::span<float> row) {
    const float total = kernels::log_sum_exp(row.size(), row.data());
    double sum = 0.0;
    for (std::size_t j = 0; j < k; ++j) {
      const auto index = i * k + j;
      const float logprob = row[static_cast<std::size_t>(inputs.targets[index])] - total;
      const auto x = token_loss(loss_fn, settings, inputs, index, logprob);
      gradients[j] = static_cast<float>(x.gradient);
      sum += gradients[j];
      out.loss += x.loss;
      out.logprobs.push_back(logprob);
      // A number too large for float32 counts as infinite.
      out.finite = out.finite && std::isfinite(logprob) && std::isfinite(gradients[j])
                   && std::isfinite(static_cast<float>(x.loss));
    }
    add_likeliest(row, settings.topk_logprobs, out);
    if (sink == nullptr)
      return;
    // With l = logit - log(sum(exp)): dl/dlogits = one-hot(target) - softmax.
    kernels::scaled_exp(row.size(), static_cast<float>(-sum), total, row.data());
    for (std::size_t j = 0; j < k; ++j)
      row[static_cast<std::size_t>(inputs.targets[i * k + j])] += gradients[j];
  };
  if (sink == nullptr)
    pass.read_logits(weights, read);
  else
    pass.read_logits_backward(weights, read, *sink);
  return out;
}

/// Working memory of this thread; large, so it is used again.
SequencePass& thread_pass() {
  thread_local SequencePass pass;
  return pass;
}

Error non_finite(const Outcome& outcome, std::size_t index) {
  Error error;
  error.code = Errc::request_failed;
  error.category = ErrorCategory::server;
  error.message
      = fmt::format("NonFiniteInTensor: the loss of data[{}] is not finite (sum {}); nothing was "
                    "added to the gradient",
                    index, outcome.loss);
  return error;
}

ForwardBackwardOutput output_of(std::vector<Outcome> outcomes,
                                const std::vector<Example>& examples) {
  ForwardBackwardOutput out;
  out.loss_fn_output_type = "TorchLossReturn";
  double loss = 0.0;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    loss += outcomes[i].loss;
    auto& fields = out.loss_fn_outputs.emplace_back();
    fields.emplace("logprobs",
                   TensorData::of(std::move(outcomes[i].logprobs), examples[i].inputs.shape));
    if (outcomes[i].topk_tokens.empty())
      continue;
    const auto positions = examples[i].inputs.positions;
    const std::vector<std::int64_t> shape{
        static_cast<std::int64_t>(positions),
        static_cast<std::int64_t>(outcomes[i].topk_tokens.size() / positions)};
    fields.emplace("topk_tokens", TensorData::of(std::move(outcomes[i].topk_tokens), shape));
    fields.emplace("topk_logprobs", TensorData::of(std::move(outcomes[i].topk_logprobs), shape));
  }
  out.metrics["loss:sum"] = loss;
  return out;
}

} // namespace

Result<std::vector<std::int32_t>> tokens_of(const BaseModel& base, const ModelInput& input,
                                            const std::string& field) {
  auto tokens = to_ints(input);
  if (!tokens)
    return fail(Errc::invalid_argument,
                fmt::format("{}: {}; this model reads text only", field, tokens.error().message));
  if (tokens->empty())
    return fail(Errc::invalid_argument, fmt::format("{}: is empty", field));
  for (std::size_t i = 0; i < tokens->size(); ++i) {
    const auto id = (*tokens)[i];
    if (id < 0 || static_cast<std::size_t>(id) >= base.vocab_size())
      return fail(Errc::invalid_argument,
                  fmt::format("{}: token {} at position {} is outside the vocabulary of {}", field,
                              id, i, base.vocab_size()));
  }
  return tokens;
}

Result<void> check_loss_config(LossFn loss_fn, const std::optional<LossFnConfig>& config) {
  const auto settings = loss_settings(loss_fn, config);
  if (!settings)
    return fail(settings.error());
  return {};
}

Result<void> check_datum(const BaseModel& base, const Datum& datum, LossFn loss_fn,
                         std::size_t index) {
  const auto example = read_example(base, datum, loss_fn, index);
  if (!example)
    return fail(example.error());
  return {};
}

Result<ForwardBackwardOutput> forward_backward(Adapter& adapter, std::span<const Datum> data,
                                               LossFn loss_fn,
                                               const std::optional<LossFnConfig>& config,
                                               bool forward_only, ThreadPool& pool,
                                               std::stop_token stop) {
  if (data.empty())
    return fail(Errc::invalid_argument, "data: is empty, must hold at least one datum");
  const auto settings = loss_settings(loss_fn, config);
  if (!settings)
    return fail(settings.error());
  std::vector<Example> examples;
  examples.reserve(data.size());
  for (std::size_t i = 0; i < data.size(); ++i) {
    auto example = read_example(*adapter.base(), data[i], loss_fn, i);
    if (!example)
      return fail(example.error());
    examples.push_back(std::move(*example));
  }

  const auto& weights = adapter.weights();
  const auto& rope = adapter.base()->rope();
  const auto parts = std::min(most_parts, examples.size());
  std::vector<std::vector<float>> gradients(parts);
  std::vector<Outcome> outcomes(examples.size());
  std::atomic<bool> stopped{false};
  // Where there are fewer parts than threads, these help with the products.
  auto* helpers = parts < pool.size() ? &pool : nullptr;
  pool.run(parts, [&](std::size_t part) {
    auto& pass = thread_pass();
    GradientSink sink;
    if (!forward_only) {
      gradients[part].resize(weights.layout().size);
      sink.adapter = gradients[part].data();
    }
    for (std::size_t i = part; i < examples.size(); i += parts) {
      if (stop.stop_requested()) {
        stopped = true;
        return;
      }
      const auto& x = examples[i];
      pass.forward(weights.view(), rope, x.tokens, helpers);
      outcomes[i] = read_loss(pass, weights.view(), loss_fn, *settings, x.inputs,
                              forward_only ? nullptr : &sink);
      if (!forward_only && outcomes[i].finite)
        pass.backward(weights.view(), rope, x.tokens, sink);
    }
  });
  if (stopped)
    return fail(Errc::cancelled, "stopped before the pass was complete");
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    if (!outcomes[i].finite)
      return fail(non_finite(outcomes[i], i));
  for (std::size_t part = 1; part < parts; ++part)
    kernels::axpy(gradients[0].size(), 1.0F, gradients[part].data(), gradients[0].data());
  if (!forward_only)
    adapter.add_gradient(gradients[0]);
  return output_of(std::move(outcomes), examples);
}

Result<OptimStepResponse> optim_step(Adapter& adapter, const AdamParams& params) {
  auto metrics = adapter.step(params);
  if (!metrics)
    return fail(metrics.error());
  return OptimStepResponse{std::move(*metrics)};
}

} // namespace tinkaf::model
