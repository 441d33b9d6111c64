// SPDX-License-Identifier: Apache-2.0
#include "server/model/token_choice.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tinkaf::model {

namespace {

/// log(sum(exp(logit / temperature))) in double precision.
double log_total(std::span<const float> logits, double temperature) {
  const double top = *std::max_element(logits.begin(), logits.end()) / temperature;
  double sum = 0.0;
  for (const float x : logits)
    sum += std::exp(x / temperature - top);
  return top + std::log(sum);
}

/// Tokens by falling logit, then rising id; only as many are put in order as are asked for.
class Ordered {
public:
  explicit Ordered(std::span<const float> logits) : logits_(logits), ids_(logits.size()) {
    std::iota(ids_.begin(), ids_.end(), 0);
  }

  /// The first k, or all if there are fewer.
  std::span<const std::int32_t> first(std::size_t k) {
    k = std::min(k, ids_.size());
    if (k > sorted_) {
      const auto before = [this](std::int32_t a, std::int32_t b) {
        const float x = logits_[static_cast<std::size_t>(a)];
        const float y = logits_[static_cast<std::size_t>(b)];
        return x != y ? x > y : a < b;
      };
      const auto begin = ids_.begin() + static_cast<std::ptrdiff_t>(sorted_);
      const auto end = ids_.begin() + static_cast<std::ptrdiff_t>(k);
      if (end != ids_.end())
        std::nth_element(begin, end, ids_.end(), before);
      std::sort(begin, end, before);
      sorted_ = k;
    }
    return std::span{ids_}.first(k);
  }

private:
  std::span<const float> logits_;
  std::vector<std::int32_t> ids_;
  std::size_t sorted_ = 0;
};

/// How many tokens are put in order at first to look for those that reach `top_p`; then eight times
/// as many, and so on.
constexpr std::size_t first_look = 64;

/// The likeliest tokens of all that together reach `top_p`.
std::vector<Candidate> nucleus(std::span<const float> logits, const SamplingParams& params) {
  const double t = params.temperature;
  const double top = *std::max_element(logits.begin(), logits.end()) / t;
  double total = 0.0;
  for (const float x : logits)
    total += std::exp(x / t - top);
  Ordered order{logits};
  std::vector<Candidate> out;
  double mass = 0.0;
  for (std::size_t look = first_look; mass < params.top_p * total && out.size() < logits.size();
       look *= 8) {
    const auto ids = order.first(look);
    while (out.size() < ids.size() && mass < params.top_p * total) {
      const auto id = ids[out.size()];
      out.push_back({id, std::exp(logits[static_cast<std::size_t>(id)] / t - top)});
      mass += out.back().probability;
    }
  }
  for (auto& x : out)
    x.probability /= mass;
  return out;
}

} // namespace

std::vector<Candidate> candidates(std::span<const float> logits, const SamplingParams& params) {
  if (params.temperature == 0.0) {
    // The first of the largest: among equals the lowest id.
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    return {{static_cast<std::int32_t>(best), 1.0}};
  }
  // Sums of all are compared with 1 only up to rounding, so p = 1 must not cut.
  const bool by_mass = params.top_p < 1.0;
  if (by_mass && params.top_k <= 0)
    return nucleus(logits, params);
  const auto kept = params.top_k > 0 ? static_cast<std::size_t>(params.top_k) : logits.size();
  std::vector<Candidate> out;
  double total = 0.0;
  double top = 0.0;
  Ordered order{logits};
  for (const auto id : order.first(kept)) {
    const double x = logits[static_cast<std::size_t>(id)] / params.temperature;
    if (out.empty())
      top = x;
    out.push_back({id, std::exp(x - top)});
    total += out.back().probability;
  }
  if (by_mass) {
    double mass = 0.0;
    std::size_t n = 0;
    while (n < out.size() && mass < params.top_p * total)
      mass += out[n++].probability;
    out.resize(n);
    total = mass;
  }
  for (auto& x : out)
    x.probability /= total;
  return out;
}

std::int32_t pick(std::span<const Candidate> from, double point) {
  for (const auto& x : from) {
    point -= x.probability;
    if (point < 0.0)
      return x.token;
  }
  return from.back().token; // rounding left a little over
}

Drawn draw(std::span<const float> logits, const SamplingParams& params, double point) {
  const bool filtered = params.temperature == 0.0 || params.top_k > 0 || params.top_p < 1.0;
  if (filtered) {
    const auto token = pick(candidates(logits, params), point);
    return {token, tempered_logprob(logits, token, params.temperature)};
  }
  const double t = params.temperature;
  const double top = *std::max_element(logits.begin(), logits.end()) / t;
  double total = 0.0;
  std::vector<double> running(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i)
    running[i] = total += std::exp(logits[i] / t - top);
  const auto found = std::upper_bound(running.begin(), running.end(), point * total);
  // Rounding may leave the point on the end: then it is the last token that has a share.
  const auto token
      = found != running.end()
            ? found - running.begin()
            : std::lower_bound(running.begin(), running.end(), total) - running.begin();
  return {
      static_cast<std::int32_t>(token),
      static_cast<float>(logits[static_cast<std::size_t>(token)] / t - (top + std::log(total)))};
}

float tempered_logprob(std::span<const float> logits, std::int32_t token, double temperature) {
  const double t = temperature == 0.0 ? 1.0 : temperature;
  return static_cast<float>(logits[static_cast<std::size_t>(token)] / t - log_total(logits, t));
}

std::vector<TokenLogprob> likeliest(std::span<const float> logits, std::size_t k) {
  const double total = log_total(logits, 1.0);
  std::vector<TokenLogprob> out;
  Ordered order{logits};
  for (const auto id : order.first(k))
    out.emplace_back(id, static_cast<float>(logits[static_cast<std::size_t>(id)] - total));
  return out;
}

} // namespace tinkaf::model
