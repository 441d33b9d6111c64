// SPDX-License-Identifier: Apache-2.0
#include "server/model/adapter.hpp"

#include "server/model/kernels.hpp"
#include "server/model/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace tinkaf::model {

namespace {

AdapterLayout layout_of(const BaseModel& base, const LoraConfig& config) {
  return {base.config(), static_cast<std::size_t>(config.rank), config.train_attn, config.train_mlp,
          config.train_unembed};
}

bool is_finite(const std::vector<float>& x) {
  return std::isfinite(kernels::squared_norm(x.size(), x.data()));
}

} // namespace

AdapterWeights::AdapterWeights(std::shared_ptr<const BaseModel> base, LoraConfig config)
    : base_(std::move(base)), config_(config), layout_(layout_of(*base_, config_)),
      parameters_(layout_.size) {}

WeightsView AdapterWeights::view() const noexcept {
  auto out = base_->view();
  out.adapter = &layout_;
  out.adapter_parameters = parameters_.data();
  return out;
}

Adapter::Adapter(std::shared_ptr<AdapterWeights> weights)
    : weights_(std::move(weights)), gradient_(weights_->layout().size),
      first_moment_(weights_->layout().size), second_moment_(weights_->layout().size) {}

Result<Adapter> Adapter::create(std::shared_ptr<const BaseModel> base, LoraConfig config) {
  if (auto good = validate(config); !good)
    return fail(good.error());
  if (!config.seed)
    config.seed = static_cast<std::int64_t>(std::random_device{}() & 0x7FFFFFFF);
  auto weights = std::make_shared<AdapterWeights>(std::move(base), config);
  for (const auto& x : weights->layout().linears) {
    Random random{mix(static_cast<std::uint64_t>(*config.seed), x.name)};
    const double bound = 1.0 / std::sqrt(static_cast<double>(x.in));
    float* a = weights->parameters_.data() + x.a;
    for (std::size_t i = 0; i < weights->layout().rank * x.in; ++i)
      a[i] = static_cast<float>(bound * (2.0 * random.uniform() - 1.0));
  }
  return Adapter{std::move(weights)};
}

std::shared_ptr<const AdapterWeights> Adapter::snapshot() {
  shared_ = true;
  return weights_;
}

AdapterWeights& Adapter::writable() {
  if (shared_) {
    weights_ = std::make_shared<AdapterWeights>(*weights_);
    shared_ = false;
  }
  return *weights_;
}

void Adapter::add_gradient(const std::vector<float>& gradient) {
  kernels::axpy(gradient_.size(), 1.0F, gradient.data(), gradient_.data());
}

void Adapter::set_parameters(const std::vector<float>& parameters) {
  auto& weights = writable();
  std::copy_n(parameters.begin(), weights.parameters_.size(), weights.parameters_.begin());
}

void Adapter::drop_gradient() {
  std::fill(gradient_.begin(), gradient_.end(), 0.0F);
}

tl::unexpected<Error> Adapter::refuse_step(const std::string& reason, ErrorCategory category) {
  drop_gradient();
  return fail({.code = Errc::request_failed,
               .message = fmt::format("NonFiniteInTensor: {}; weights and moments are unchanged, "
                                      "the gradient was dropped",
                                      reason),
               .category = category});
}

Result<Metrics> Adapter::step(const AdamParams& params) {
  if (auto good = validate(params); !good)
    return fail(good.error());
  const double norm = std::sqrt(kernels::squared_norm(gradient_.size(), gradient_.data()));
  if (!std::isfinite(norm))
    return refuse_step("the gradient is not finite", ErrorCategory::server);
  const auto t = static_cast<double>(step_ + 1);
  const double limit = params.grad_clip_norm;
  kernels::AdamWStep s;
  s.gradient_scale = static_cast<float>(limit > 0.0 && norm > limit ? limit / norm : 1.0);
  s.decay = static_cast<float>(1.0 - params.learning_rate * params.weight_decay);
  s.beta1 = static_cast<float>(params.beta1);
  s.one_minus_beta1 = static_cast<float>(1.0 - params.beta1);
  s.beta2 = static_cast<float>(params.beta2);
  s.one_minus_beta2 = static_cast<float>(1.0 - params.beta2);
  s.learning_rate = static_cast<float>(params.learning_rate);
  s.bias1 = static_cast<float>(1.0 - std::pow(params.beta1, t));
  s.bias2 = static_cast<float>(1.0 - std::pow(params.beta2, t));
  s.eps = static_cast<float>(params.eps);
  auto parameters = weights_->parameters_;
  auto first = first_moment_;
  auto second = second_moment_;
  kernels::adamw(gradient_.size(), s, gradient_.data(), parameters.data(), first.data(),
                 second.data());
  if (!is_finite(first) || !is_finite(second))
    return refuse_step(fmt::format("moments of the optimizer would not be finite, the norm of the "
                                   "gradient being {}",
                                   norm),
                       ErrorCategory::server);
  if (!is_finite(parameters))
    return refuse_step(
        fmt::format("weights would not be finite with a learning_rate of {} and a weight_decay of "
                    "{}",
                    params.learning_rate, params.weight_decay),
        ErrorCategory::user);
  first_moment_ = std::move(first);
  second_moment_ = std::move(second);
  auto& weights = writable();
  weights.parameters_ = std::move(parameters);
  drop_gradient();
  ++step_;
  return Metrics{{"grad_norm:mean", norm},
                 {"learning_rate:mean", params.learning_rate},
                 {"step:max", static_cast<double>(step_)}};
}

} // namespace tinkaf::model
