// SPDX-License-Identifier: Apache-2.0
#include "losses/policy_losses.hpp"

#include <fmt/format.h>

#include <cmath>

namespace tinkaf::losses {

namespace {

/// Sums what `loss_of` gives for each datum.
template <class LossOf>
Var total(const FormulaInput& input, LossOf loss_of) {
  auto out = input.tape.constant(0.0);
  for (std::size_t i = 0; i < input.logprobs.size(); ++i)
    out = out + loss_of(i);
  return out;
}

/// What a policy loss reads of a datum.
struct Tokens {
  Var logprobs;
  Var advantages;

  /// 1 where the advantage is 0: what does not count shall not overflow either.
  Var ratio;
};

Tokens tokens_of(const FormulaInput& input, std::size_t datum) {
  const auto& p = input.logprobs[datum];
  const auto advantages = input.field(datum, "advantages");
  const auto distance = where(advantages, p - input.field(datum, "logprobs"), 0.0);
  return {p, advantages, exp(distance)};
}

Result<void> check(const ClipThresholds& options, const char* loss) {
  const auto low = options.clip_low_threshold;
  const auto high = options.clip_high_threshold;
  if (!std::isfinite(low) || low < 0.0)
    return fail(Errc::invalid_argument,
                fmt::format("{}: clip_low_threshold is {}, must be a number from 0 on", loss, low));
  if (!std::isfinite(high) || high < low)
    return fail(Errc::invalid_argument,
                fmt::format("{}: clip_high_threshold is {}, must be a number from "
                            "clip_low_threshold, {}, on",
                            loss, high, low));
  return {};
}

} // namespace

FormulaValue cross_entropy(const FormulaInput& input) {
  return {.loss
          = total(input, [&](std::size_t i) { return -dot(input.weights(i), input.logprobs[i]); })};
}

FormulaValue importance_sampling(const FormulaInput& input) {
  return {.loss = total(input, [&](std::size_t i) {
            const auto x = tokens_of(input, i);
            return -dot(x.ratio, x.advantages);
          })};
}

Result<Formula> ppo(const ClipThresholds& options) {
  if (const auto good = check(options, "ppo"); !good)
    return fail(good.error());
  return [low = options.clip_low_threshold,
          high = options.clip_high_threshold](const FormulaInput& input) -> FormulaValue {
    auto clipped = 0.0;
    auto counted = 0.0;
    const auto loss = total(input, [&](std::size_t i) {
      const auto x = tokens_of(input, i);
      const auto ratio = x.ratio.values();
      const auto advantages = x.advantages.values();
      for (std::size_t t = 0; t < ratio.size(); ++t)
        if (advantages[t] != 0.0) {
          counted += 1.0;
          clipped += ratio[t] < low || ratio[t] > high ? 1.0 : 0.0;
        }
      return -sum(min(x.ratio * x.advantages, clamp(x.ratio, low, high) * x.advantages));
    });
    return {loss, {{"clip_fraction", counted == 0.0 ? 0.0 : clipped / counted}}};
  };
}

Result<Formula> cispo(const ClipThresholds& options) {
  if (const auto good = check(options, "cispo"); !good)
    return fail(good.error());
  return [low = options.clip_low_threshold,
          high = options.clip_high_threshold](const FormulaInput& input) -> FormulaValue {
    return {.loss = total(input, [&](std::size_t i) {
              const auto x = tokens_of(input, i);
              return -dot(detach(clamp(x.ratio, low, high)) * x.advantages, x.logprobs);
            })};
  };
}

Result<Formula> dro(double beta) {
  if (!std::isfinite(beta) || beta < 0.0)
    return fail(Errc::invalid_argument,
                fmt::format("dro: beta is {}, must be a number from 0 on", beta));
  return [beta](const FormulaInput& input) -> FormulaValue {
    return {.loss = total(input, [&](std::size_t i) {
              const auto& p = input.logprobs[i];
              return sum(square(p - input.field(i, "logprobs")) * (0.5 * beta)
                         - input.field(i, "advantages") * p);
            })};
  };
}

} // namespace tinkaf::losses
