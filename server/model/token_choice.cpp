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

/// The first k tokens by falling logit, then rising id.
std::vector<std::int32_t> ordered(std::span<const float> logits, std::size_t k) {
  std::vector<std::int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto before = [&](std::int32_t a, std::int32_t b) {
    const float x = logits[static_cast<std::size_t>(a)];
    const float y = logits[static_cast<std::size_t>(b)];
    return x != y ? x > y : a < b;
  };
  k = std::min(k, ids.size());
  const auto end = ids.begin() + static_cast<std::ptrdiff_t>(k);
  std::partial_sort(ids.begin(), end, ids.end(), before);
  ids.erase(end, ids.end());
  return ids;
}

} // namespace

std::vector<Candidate> candidates(std::span<const float> logits, const SamplingParams& params) {
  if (params.temperature == 0.0) {
    // The first of the largest: among equals the lowest id.
    const auto best = std::max_element(logits.begin(), logits.end()) - logits.begin();
    return {{static_cast<std::int32_t>(best), 1.0}};
  }
  const auto kept = params.top_k > 0 ? static_cast<std::size_t>(params.top_k) : logits.size();
  std::vector<Candidate> out;
  double total = 0.0;
  double top = 0.0;
  for (const auto id : ordered(logits, kept)) {
    const double x = logits[static_cast<std::size_t>(id)] / params.temperature;
    if (out.empty())
      top = x;
    out.push_back({id, std::exp(x - top)});
    total += out.back().probability;
  }
  // Sums of all are compared with 1 only up to rounding, so p = 1 must not cut.
  if (params.top_p < 1.0) {
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
  for (const auto id : ordered(logits, k))
    out.emplace_back(id, static_cast<float>(logits[static_cast<std::size_t>(id)] - total));
  return out;
}

} // namespace tinkaf::model
