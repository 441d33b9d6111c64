// SPDX-License-Identifier: Apache-2.0
#include "losses/regularizers.hpp"

#include <fmt/format.h>

#include <cmath>

namespace tinkaf::losses {

namespace {

tl::unexpected<Error> refuse(std::string message) {
  return fail(Errc::invalid_argument, std::move(message));
}

Var total(const FormulaInput& input, const std::vector<Var>& parts) {
  auto out = input.tape.constant(0.0);
  for (const auto& part : parts)
    out = out + sum(part);
  return out;
}

std::size_t count(const std::vector<Var>& parts) {
  std::size_t out = 0;
  for (const auto& part : parts)
    out += part.size();
  return out;
}

Var average(const FormulaInput& input, const std::vector<Var>& parts) {
  const auto elements = count(parts);
  return elements == 0 ? input.tape.constant(0.0)
                       : total(input, parts) / static_cast<double>(elements);
}

Var reduce(const FormulaInput& input, const std::vector<Var>& parts, Reduction reduction) {
  return reduction == Reduction::sum ? total(input, parts) : average(input, parts);
}

/// What `f` makes of each datum.
template <class F>
std::vector<Var> each(const FormulaInput& input, F f) {
  std::vector<Var> out;
  out.reserve(input.logprobs.size());
  for (std::size_t i = 0; i < input.logprobs.size(); ++i)
    out.push_back(f(i));
  return out;
}

std::vector<Var> targets(const FormulaInput& input, Target target) {
  return each(input, [&](std::size_t i) {
    return target == Target::logprobs ? input.logprobs[i] : exp(input.logprobs[i]);
  });
}

Var values_of(const FormulaInput& input, const Reference& reference, std::size_t datum,
              const char* what) {
  if (const auto* name = std::get_if<std::string>(&reference))
    return input.field(datum, *name);
  return input.of(std::get<TokenValues>(reference), datum, what);
}

bool is_nameless(const Reference& reference) {
  const auto* name = std::get_if<std::string>(&reference);
  return name != nullptr && name->empty();
}

/// P's share of KL(P‖R), for each position.
Var divergence(const Var& p, const Var& r, std::size_t columns) {
  return row_sum(exp(p) * (p - r), columns);
}

Var cosine_distance(const Var& a, const Var& b) {
  constexpr auto least = 1e-8; // of a length, so that zeros have an angle
  const auto lengths = max(sqrt(sum(square(a))), least) * max(sqrt(sum(square(b))), least);
  return 1.0 - dot(a, b) / lengths;
}

} // namespace

Formula l1_sparsity(const L1Options& options) {
  return [options](const FormulaInput& input) -> FormulaValue {
    auto parts = targets(input, options.target);
    for (auto& part : parts)
      part = abs(part);
    return {reduce(input, parts, options.reduction),
            {{"l1_raw", total(input, parts)}, {"l1_mean", average(input, parts)}}};
  };
}

Result<Formula> l2_weight_decay(const L2Options& options) {
  if (options.clip && !(*options.clip > 0.0))
    return refuse(fmt::format("l2_weight_decay: clip is {}, must be above 0", *options.clip));
  return [options](const FormulaInput& input) -> FormulaValue {
    auto parts = targets(input, options.target);
    const auto center = average(input, parts);
    for (auto& part : parts) {
      if (options.center)
        part = part - center;
      if (options.clip)
        part = clamp(part, -*options.clip, *options.clip);
      part = square(part);
    }
    return {.loss = reduce(input, parts, options.reduction)};
  };
}

Result<Formula> elastic_net(const ElasticNetOptions& options) {
  const auto ratio = options.l1_ratio;
  if (!(ratio >= 0.0 && ratio <= 1.0))
    return refuse(fmt::format("elastic_net: l1_ratio is {}, must be in [0, 1]", ratio));
  return [options, ratio](const FormulaInput& input) -> FormulaValue {
    auto parts = targets(input, options.target);
    for (auto& part : parts)
      part = ratio * abs(part) + (1.0 - ratio) * square(part);
    return {.loss = reduce(input, parts, options.reduction)};
  };
}

Result<Formula> entropy(const EntropyOptions& options) {
  if (!std::isfinite(options.temperature) || options.temperature <= 0.0)
    return refuse(fmt::format("entropy: temperature is {}, must be above 0", options.temperature));
  return [options](const FormulaInput& input) -> FormulaValue {
    const auto entropies = each(input, [&](std::size_t i) {
      const auto columns = input.columns[i];
      if (columns > 1) {
        const auto scaled = input.logprobs[i] / options.temperature;
        const auto p = scaled - row_repeat(row_logsumexp(scaled, columns), columns);
        const auto h = -row_sum(exp(p) * p, columns);
        return options.normalize ? h / std::log(static_cast<double>(columns)) : h;
      }
      if (options.normalize || options.temperature != 1.0)
        throw FormulaError{fmt::format("entropy: data[{}] has one target token per position; "
                                       "temperature and normalize need several",
                                       i)};
      return -(exp(input.logprobs[i]) * input.logprobs[i]);
    });
    const auto h = reduce(input, entropies, options.reduction);
    return {options.goal == EntropyOptions::Goal::maximize ? -h : h, {{"entropy", h}}};
  };
}

Result<Formula> kl_divergence(KlOptions options) {
  if (is_nameless(options.reference))
    return refuse("kl_divergence: the reference is neither values nor the name of a tensor");
  return [options = std::move(options)](const FormulaInput& input) -> FormulaValue {
    using Direction = KlOptions::Direction;
    const auto parts = each(input, [&](std::size_t i) {
      const auto& p = input.logprobs[i];
      const auto r = values_of(input, options.reference, i, "kl_divergence: reference");
      const auto columns = input.columns[i];
      if (options.direction == Direction::forward)
        return divergence(p, r, columns);
      if (options.direction == Direction::reverse)
        return divergence(r, p, columns);
      return 0.5 * (divergence(p, r, columns) + divergence(r, p, columns));
    });
    return {.loss = reduce(input, parts, options.reduction)};
  };
}

Result<Formula> consistency(ConsistencyOptions options) {
  if (is_nameless(options.pair))
    return refuse("consistency: the pair is neither values nor the name of a tensor");
  return [options = std::move(options)](const FormulaInput& input) -> FormulaValue {
    using Measure = ConsistencyOptions::Measure;
    const auto parts = each(input, [&](std::size_t i) {
      const auto& p = input.logprobs[i];
      const auto q = values_of(input, options.pair, i, "consistency: pair");
      switch (options.measure) {
      case Measure::mae:
        return abs(p - q);
      case Measure::kl:
        return divergence(p, q, input.columns[i]);
      case Measure::cosine:
        return cosine_distance(p, q);
      default:
        return square(p - q);
      }
    });
    return {.loss = reduce(input, parts, options.reduction)};
  };
}

Formula orthogonality(const OrthogonalityOptions& options) {
  return [options](const FormulaInput& input) -> FormulaValue {
    const auto rows = input.logprobs.size();
    const auto columns = rows == 0 ? 0 : input.logprobs[0].size();
    for (std::size_t i = 0; i < rows; ++i)
      if (input.logprobs[i].size() != columns)
        throw FormulaError{fmt::format("orthogonality: data[{}] has {} target tokens, data[0] {}; "
                                       "they must be as many",
                                       i, input.logprobs[i].size(), columns)};
    if (columns == 0)
      return {.loss = input.tape.constant(0.0)};
    auto x = join(input.logprobs);
    if (options.normalize) {
      constexpr auto least = 1e-8; // of a length, so that a row of zeros stays one
      x = x / row_repeat(max(sqrt(row_sum(square(x), columns)), least), columns);
    }
    std::vector<double> one(rows * rows, 0.0);
    for (std::size_t i = 0; i < rows; ++i)
      one[i * rows + i] = 1.0;
    const auto identity = input.tape.constant(std::span<const double>{one});
    const auto products = matmul(x, transpose(x, columns), columns);
    const auto off = options.mode == OrthogonalityOptions::Mode::hard
                         ? products - identity
                         : where(1.0 - identity, products, 0.0);
    return {.loss = sum(square(off))};
  };
}

Result<Formula> gradient_penalty(GradientPenaltyOptions options) {
  if (!options.of)
    return refuse("gradient_penalty: of is empty, must be the loss whose gradient is meant");
  if (!std::isfinite(options.target_norm) || options.target_norm < 0.0)
    return refuse(fmt::format("gradient_penalty: target_norm is {}, must be a number from 0 on",
                              options.target_norm));
  if (!(options.share >= 0.0 && options.share <= 1.0))
    return refuse(fmt::format("gradient_penalty: share is {}, must be in [0, 1]", options.share));
  if (options.interpolate_with && is_nameless(*options.interpolate_with))
    return refuse("gradient_penalty: interpolate_with is neither values nor a tensor's name");
  return [options = std::move(options)](const FormulaInput& input) -> FormulaValue {
    const auto where_to_look = each(input, [&](std::size_t i) {
      if (!options.interpolate_with)
        return input.logprobs[i];
      const auto other
          = values_of(input, *options.interpolate_with, i, "gradient_penalty: interpolate_with");
      return options.share * input.logprobs[i] + (1.0 - options.share) * other;
    });
    auto moved = input;
    moved.logprobs = where_to_look;
    auto slopes = gradients(options.of(moved).loss, where_to_look);
    for (auto& slope : slopes)
      slope = square(slope);
    const auto norm = sqrt(total(input, slopes));
    return {square(norm - options.target_norm), {{"norm", norm}}};
  };
}

} // namespace tinkaf::losses
