// SPDX-License-Identifier: Apache-2.0
#include "server/model/transformer.hpp"

#include <cmath>
#include <numbers>

namespace tinkaf::model {

namespace {

/// Radians a position, of each pair of a head. Slow turns are slowed down further by the factor of
/// `RopeScaling`, fast ones stay, those in between are blended; from the Llama 3.1 reference code.
double frequency_of(const ModelConfig& config, std::size_t pair) {
  const double plain
      = std::pow(static_cast<double>(config.rope_theta),
                 -static_cast<double>(2 * pair) / static_cast<double>(config.head_dim));
  if (!config.rope_scaling)
    return plain;
  const auto& s = *config.rope_scaling;
  const double turns = s.original_max_position_embeddings * plain / (2.0 * std::numbers::pi);
  if (turns < s.low_freq_factor)
    return plain / s.factor;
  if (turns > s.high_freq_factor)
    return plain;
  const double kept = (turns - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor);
  return (1.0 - kept) * plain / s.factor + kept * plain;
}

} // namespace

RopeTable::RopeTable(const ModelConfig& config, std::size_t positions)
    : half_(config.head_dim / 2), cosines_(positions * half_), sines_(positions * half_) {
  for (std::size_t i = 0; i < half_; ++i) {
    const double frequency = frequency_of(config, i);
    for (std::size_t p = 0; p < positions; ++p) {
      cosines_[p * half_ + i] = static_cast<float>(std::cos(static_cast<double>(p) * frequency));
      sines_[p * half_ + i] = static_cast<float>(std::sin(static_cast<double>(p) * frequency));
    }
  }
}

} // namespace tinkaf::model
