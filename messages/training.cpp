// SPDX-License-Identifier: Apache-2.0
#include "messages/training.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace tinkaf {

namespace {

constexpr auto loss_fns = std::array{LossFn::cross_entropy, LossFn::importance_sampling,
                                     LossFn::ppo, LossFn::cispo, LossFn::dro};

Result<void> check(const char* name, double value, bool good, const char* range) {
  // Services compute in single precision, where a larger number would be infinite.
  const auto finite = std::isfinite(static_cast<float>(value));
  if (good && finite)
    return {};
  return fail(Errc::invalid_argument,
              fmt::format("adam_params.{} is {}, but must be {}", name, value,
                          finite ? range : "finite, also in single precision"));
}

} // namespace

const char* to_string(LossFn loss_fn) noexcept {
  switch (loss_fn) {
  case LossFn::cross_entropy:
    return "cross_entropy";
  case LossFn::importance_sampling:
    return "importance_sampling";
  case LossFn::ppo:
    return "ppo";
  case LossFn::cispo:
    return "cispo";
  case LossFn::dro:
    return "dro";
  }
  return "unknown";
}

Result<LossFn> parse_loss_fn(std::string_view name) {
  for (auto loss_fn : loss_fns)
    if (name == to_string(loss_fn))
      return loss_fn;
  return fail(Errc::invalid_argument,
              fmt::format("loss_fn is `{}`, but must be one of cross_entropy, "
                          "importance_sampling, ppo, cispo, dro",
                          name));
}

Result<void> validate(const AdamParams& p) {
  auto first_failure = [](std::initializer_list<Result<void>> checks) -> Result<void> {
    for (const auto& result : checks)
      if (!result)
        return result;
    return {};
  };
  return first_failure({
      check("learning_rate", p.learning_rate, p.learning_rate >= 0, "at least 0"),
      check("beta1", p.beta1, p.beta1 >= 0 && p.beta1 < 1, "in [0, 1)"),
      check("beta2", p.beta2, p.beta2 >= 0 && p.beta2 < 1, "in [0, 1)"),
      check("eps", p.eps, static_cast<float>(p.eps) > 0, "above 0, also in single precision"),
      check("weight_decay", p.weight_decay, p.weight_decay >= 0, "at least 0"),
      check("grad_clip_norm", p.grad_clip_norm, p.grad_clip_norm >= 0, "at least 0"),
  });
}

Result<void> validate(const LoraConfig& config) {
  if (config.rank <= 0)
    return fail(Errc::invalid_argument,
                fmt::format("lora_config.rank must be positive, but is {}", config.rank));
  if ((config.rank & (config.rank - 1)) != 0)
    return fail(Errc::invalid_argument,
                fmt::format("lora_config.rank must be a power of 2, but is {}", config.rank));
  if (!config.train_unembed && !config.train_mlp && !config.train_attn)
    return fail(Errc::invalid_argument,
                "At least one of train_unembed, train_mlp, or train_attn must be True");
  return {};
}

} // namespace tinkaf
