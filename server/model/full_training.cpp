// SPDX-License-Identifier: Apache-2.0
#include "server/model/full_training.hpp"

#include "server/model/kernels.hpp"
#include "server/model/random.hpp"
#include "server/model/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tinkaf::model {

namespace {

constexpr double beta1 = 0.9;
constexpr double beta2 = 0.95;
constexpr double largest_norm = 1.0;

/// Turns each row of logits into the gradient of its loss, takes it through the output head, and
/// returns the sum of the losses.
double cross_entropy_gradient(SequencePass& pass, const WeightsView& weights,
                              std::span<const std::int32_t> targets, float weight,
                              const GradientSink& sink) {
  double loss = 0.0;
  const auto read = [&](std::size_t i, std::span<float> row) {
    const auto target = static_cast<std::size_t>(targets[i]);
    const float total = kernels::log_sum_exp(row.size(), row.data());
    loss += static_cast<double>(total) - row[target];
    kernels::scaled_exp(row.size(), weight, total, row.data());
    row[target] -= weight;
  };
  pass.read_logits_backward(weights, read, sink);
  return loss;
}

} // namespace

FullTraining::FullTraining(const ModelConfig& config, std::uint64_t seed)
    : config_(config), layout_(config), rope_(config, config.max_position_embeddings),
      weights_(layout_.size), first_moment_(layout_.size), second_moment_(layout_.size),
      shards_(shards) {
  kernels::pin_to_one_thread();
  const double into_stream = 0.02 / std::sqrt(2.0 * static_cast<double>(config.num_hidden_layers));
  for (const auto& tensor : layout_.tensors) {
    const std::span out{weights_.data() + tensor.offset, tensor.size()};
    if (tensor.columns == 1) {
      std::fill(out.begin(), out.end(), 1.0F);
      continue;
    }
    const bool adds = tensor.name.find("o_proj") != std::string::npos
                      || tensor.name.find("down_proj") != std::string::npos;
    Random random{mix(seed, tensor.name)};
    for (auto& x : out)
      x = static_cast<float>((adds ? into_stream : 0.02) * random.normal());
  }
  for (auto& shard : shards_)
    shard.gradient.resize(layout_.size);
}

WeightsView FullTraining::view() const noexcept {
  return {&config_, &layout_, weights_.data()};
}

double FullTraining::step(Windows windows, double learning_rate, double weight_decay,
                          ThreadPool& pool) {
  std::size_t tokens = 0;
  for (const auto& window : windows)
    tokens += window.size() - 1;
  const float weight = 1.0F / static_cast<float>(tokens);
  pool.run(shards, [&](std::size_t n) {
    auto& shard = shards_[n];
    std::fill(shard.gradient.begin(), shard.gradient.end(), 0.0F);
    shard.loss = 0.0;
    GradientSink sink;
    sink.base = shard.gradient.data();
    for (std::size_t i = n; i < windows.size(); i += shards) {
      const auto inputs = windows[i].first(windows[i].size() - 1);
      shard.pass.forward(view(), rope_, inputs);
      shard.loss += cross_entropy_gradient(shard.pass, view(), windows[i].subspan(1), weight, sink);
      shard.pass.backward(view(), rope_, inputs, sink);
    }
  });
  double loss = 0.0;
  for (const auto& shard : shards_)
    loss += shard.loss;
  for (std::size_t n = 1; n < shards; ++n)
    kernels::axpy(layout_.size, 1.0F, shards_[n].gradient.data(), shards_[0].gradient.data());
  apply_gradient(learning_rate, weight_decay);
  return loss / static_cast<double>(tokens);
}

void FullTraining::apply_gradient(double learning_rate, double weight_decay) {
  ++step_;
  const auto& gradient = shards_[0].gradient;
  const double norm = std::sqrt(kernels::squared_norm(layout_.size, gradient.data()));
  const auto t = static_cast<double>(step_);
  kernels::AdamWStep step;
  step.gradient_scale = static_cast<float>(norm > largest_norm ? largest_norm / norm : 1.0);
  step.beta1 = static_cast<float>(beta1);
  step.one_minus_beta1 = static_cast<float>(1.0 - beta1);
  step.beta2 = static_cast<float>(beta2);
  step.one_minus_beta2 = static_cast<float>(1.0 - beta2);
  step.learning_rate = static_cast<float>(learning_rate);
  step.bias1 = static_cast<float>(1.0 - std::pow(beta1, t));
  step.bias2 = static_cast<float>(1.0 - std::pow(beta2, t));
  step.eps = 1e-8F;
  for (const auto& tensor : layout_.tensors) {
    // Gains are not pulled towards zero.
    step.decay
        = tensor.columns == 1 ? 1.0F : static_cast<float>(1.0 - learning_rate * weight_decay);
    const auto at = tensor.offset;
    kernels::adamw(tensor.size(), step, gradient.data() + at, weights_.data() + at,
                   first_moment_.data() + at, second_moment_.data() + at);
  }
}

double FullTraining::loss(std::span<const std::int32_t> text, ThreadPool& pool) {
  const auto length = config_.max_position_embeddings;
  const auto windows = text.size() < 2 ? 0 : (text.size() - 2) / length + 1;
  pool.run(shards, [&](std::size_t n) {
    auto& shard = shards_[n];
    shard.loss = 0.0;
    for (std::size_t i = n; i < windows; i += shards) {
      const auto window = text.subspan(i * length, std::min(length + 1, text.size() - i * length));
      shard.pass.forward(view(), rope_, window.first(window.size() - 1));
      shard.pass.read_logits(view(), [&](std::size_t t, std::span<float> row) {
        shard.loss += static_cast<double>(kernels::log_sum_exp(row.size(), row.data()))
                      - row[static_cast<std::size_t>(window[t + 1])];
      });
    }
  });
  double sum = 0.0;
  for (const auto& shard : shards_)
    sum += shard.loss;
  return sum;
}

Result<void> FullTraining::save(const std::filesystem::path& file) const {
  const std::vector<TensorSource> sources{
      {"weights", {layout_.size}, weights_},
      {"exp_avg", {layout_.size}, first_moment_},
      {"exp_avg_sq", {layout_.size}, second_moment_},
  };
  return write_safetensors(file, sources, StoredType::f32, {{"step", fmt::format("{}", step_)}});
}

Result<void> FullTraining::load(const std::filesystem::path& file) {
  const auto reader = SafetensorsReader::open(file);
  if (!reader)
    return fail(reader.error());
  std::size_t step = 0;
  const auto found = reader->metadata().find("step");
  const auto text = found == reader->metadata().end() ? std::string{} : found->second;
  if (std::from_chars(text.data(), text.data() + text.size(), step).ec != std::errc{})
    return fail(Errc::invalid_argument,
                fmt::format("{}: step: \"{}\" is not a number", file.string(), text));
  auto done = reader->read("weights", {layout_.size}, weights_);
  if (done)
    done = reader->read("exp_avg", {layout_.size}, first_moment_);
  if (done)
    done = reader->read("exp_avg_sq", {layout_.size}, second_moment_);
  if (done)
    step_ = step;
  return done;
}

} // namespace tinkaf::model
