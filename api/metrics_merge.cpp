// SPDX-License-Identifier: Apache-2.0
#include "api/metrics_merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <string>

namespace tinkaf {

namespace {

/// The values of one metric, one per part, with the number of outputs in each part.
struct Column {
  std::vector<double> values;
  std::vector<double> weights;
};

Result<std::string> reduction_of(const std::string& name) {
  auto colon = name.find(':');
  if (colon == std::string::npos || name.find(':', colon + 1) != std::string::npos)
    return fail(Errc::protocol_error,
                fmt::format("metric `{}` must be named `name:reduction`, with one colon", name));
  return name.substr(colon + 1);
}

/// The metric's values if every part has it.
std::optional<Column> column_of(const std::string& name,
                                const std::vector<ForwardBackwardOutput>& parts) {
  Column column;
  for (const auto& part : parts) {
    auto found = part.metrics.find(name);
    if (found == part.metrics.end())
      return std::nullopt;
    column.values.push_back(found->second);
    column.weights.push_back(static_cast<double>(part.loss_fn_outputs.size()));
  }
  return column;
}

Result<double> weighted_mean(const std::string& name, const Column& column) {
  double total = 0.0;
  double sum = 0.0;
  for (std::size_t i = 0; i < column.values.size(); ++i) {
    total += column.weights[i];
    sum += column.weights[i] * column.values[i];
  }
  if (total == 0.0)
    return fail(Errc::protocol_error,
                fmt::format("metric `{}` is a mean over no outputs at all", name));
  return sum / total;
}

Result<std::int64_t> hash_of(const std::string& name, const Column& column) {
  // The first double beyond an int64; its counterpart below is the least int64 itself.
  constexpr double limit = 9'223'372'036'854'775'808.0;
  std::vector<std::int64_t> integers;
  for (auto value : column.values) {
    if (!(value >= -limit && value < limit))
      return fail(Errc::protocol_error,
                  fmt::format("metric `{}` is {}, which is no 64-bit integer", name, value));
    integers.push_back(static_cast<std::int64_t>(value));
  }
  return hash_unordered(std::move(integers));
}

Result<void> merge_metric(const std::string& name, const Column& column,
                          ForwardBackwardOutput& out) {
  auto reduction = reduction_of(name);
  if (!reduction)
    return fail(std::move(reduction.error()));
  const auto& values = column.values;
  if (*reduction == "sum") {
    auto& sum = out.metrics[name];
    for (auto value : values)
      sum += value;
  } else if (*reduction == "min") {
    out.metrics[name] = *std::min_element(values.begin(), values.end());
  } else if (*reduction == "max") {
    out.metrics[name] = *std::max_element(values.begin(), values.end());
  } else if (*reduction == "mean" || *reduction == "slack") {
    auto mean = weighted_mean(name, column);
    if (!mean)
      return fail(std::move(mean.error()));
    out.metrics[name]
        = *reduction == "mean" ? *mean : *std::max_element(values.begin(), values.end()) - *mean;
  } else if (*reduction == "unique") {
    out.metrics[name] = values.front();
    for (std::size_t i = 1; i < values.size(); ++i)
      out.metrics[fmt::format("{}_{}", name, i)] = values[i];
  } else if (*reduction == "hash_unordered") {
    auto hash = hash_of(name, column);
    if (!hash)
      return fail(std::move(hash.error()));
    out.hashes[name] = *hash;
  }
  return {};
}

/// The hash that Python gives to an integer.
std::uint64_t hash_integer(std::int64_t value) {
  constexpr std::uint64_t modulus = (std::uint64_t{1} << 61) - 1;
  auto bits = static_cast<std::uint64_t>(value);
  auto magnitude = (value < 0 ? ~bits + 1 : bits) % modulus;
  auto hash = value < 0 ? ~magnitude + 1 : magnitude;
  constexpr auto reserved = ~std::uint64_t{0};
  return hash == reserved ? reserved - 1 : hash;
}

} // namespace

Result<ForwardBackwardOutput> merge_outputs(std::vector<ForwardBackwardOutput> parts) {
  ForwardBackwardOutput out;
  if (parts.empty())
    return out;
  out.loss_fn_output_type = parts.front().loss_fn_output_type;
  for (const auto& [name, value] : parts.front().metrics) {
    auto column = column_of(name, parts);
    if (!column)
      continue;
    auto merged = merge_metric(name, *column, out);
    if (!merged)
      return fail(std::move(merged.error()));
  }
  for (auto& part : parts)
    std::move(part.loss_fn_outputs.begin(), part.loss_fn_outputs.end(),
              std::back_inserter(out.loss_fn_outputs));
  return out;
}

// The tuple hash of CPython 3.8 and later: xxHash's rounds over the hashes of the elements.
std::int64_t hash_unordered(std::vector<std::int64_t> values) {
  constexpr std::uint64_t prime_1 = 11'400'714'785'074'694'791U;
  constexpr std::uint64_t prime_2 = 14'029'467'366'897'019'727U;
  constexpr std::uint64_t prime_5 = 2'870'177'450'012'600'261U;
  std::sort(values.begin(), values.end());
  auto hash = prime_5;
  for (auto value : values) {
    hash += hash_integer(value) * prime_2;
    hash = std::rotl(hash, 31) * prime_1;
  }
  hash += values.size() ^ (prime_5 ^ 3'527'539U);
  if (hash == ~std::uint64_t{0})
    hash = 1'546'275'796U;
  return static_cast<std::int64_t>(hash);
}

} // namespace tinkaf
