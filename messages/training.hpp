// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/datum.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tinkaf {

/// Losses that the service computes.
enum class LossFn : std::uint8_t { cross_entropy, importance_sampling, ppo, cispo, dro };

/// Returns the service's name, for example "cross_entropy".
[[nodiscard]] const char* to_string(LossFn loss_fn) noexcept;

/// Reads the service's name, case-sensitive.
/// @returns `Errc::invalid_argument` with the allowed names
[[nodiscard]] Result<LossFn> parse_loss_fn(std::string_view name);

/// Settings of a loss by the service's names, for example `clip_low_threshold`.
using LossFnConfig = std::map<std::string, double>;

/// Asks for a loss, its outputs and (unless forward only) its gradient, added to the model's own.
struct ForwardBackwardInput {
  Batch data;
  LossFn loss_fn = LossFn::cross_entropy;

  /// Left out on the wire if absent.
  std::optional<LossFnConfig> loss_fn_config;
};

/// One value per name, for example "loss:sum"; the suffix tells how values of parts combine.
using Metrics = std::map<std::string, double>;

/// What a training pass gives back.
struct ForwardBackwardOutput {
  std::string loss_fn_output_type;

  /// One map per datum, in the order of the input; `logprobs` has the shape of `target_tokens`.
  std::vector<std::map<std::string, TensorData>> loss_fn_outputs;

  Metrics metrics;

  /// Metrics that are 64-bit hashes (`…:hash_unordered`), which a double cannot hold.
  std::map<std::string, std::int64_t> hashes;

  friend bool operator==(const ForwardBackwardOutput&, const ForwardBackwardOutput&) = default;
};

/// Settings of one AdamW step, as the service applies it.
///
/// Source of the defaults: `AdamParams` of the official SDK.
struct AdamParams {
  /// Step size; at least 0.
  double learning_rate = 1e-4;

  /// Decay of the running mean of gradients, in [0, 1).
  double beta1 = 0.9;

  /// Decay of the running mean of squared gradients, in [0, 1).
  double beta2 = 0.95;

  /// Added to the denominator of the update; above 0, also in single precision.
  double eps = 1e-12;

  /// Decoupled weight decay per step; 0 switches it off.
  double weight_decay = 0.0;

  /// Largest global gradient norm that is kept as it is; 0 switches clipping off.
  double grad_clip_norm = 0.0;

  friend bool operator==(const AdamParams&, const AdamParams&) = default;
};

/// Checks every field; the error names the first bad one and its value.
[[nodiscard]] Result<void> validate(const AdamParams& params);

struct OptimStepResponse {
  /// What the service reports of the step; may be empty.
  Metrics metrics;

  friend bool operator==(const OptimStepResponse&, const OptimStepResponse&) = default;
};

/// Shape of a LoRA adapter. Which defaults: those of the official SDK.
struct LoraConfig {
  /// Inner dimension; a positive power of two.
  std::int32_t rank = 32;

  /// Seed of the initial weights; the service draws one if absent.
  std::optional<std::int64_t> seed;

  bool train_unembed = true;
  bool train_mlp = true;
  bool train_attn = true;

  friend bool operator==(const LoraConfig&, const LoraConfig&) = default;
};

/// Checks rank and flags; the error names the bad field and its value.
[[nodiscard]] Result<void> validate(const LoraConfig& config);

struct SaveWeightsOptions {
  /// How long the checkpoint is kept, from now; for ever if absent.
  std::optional<std::chrono::seconds> ttl;

  /// Replace a checkpoint of the same name.
  bool overwrite = false;
};

/// Where a training checkpoint was saved.
struct SaveWeightsResponse {
  /// `tinker://<run>/weights/<name>`
  std::string path;

  friend bool operator==(const SaveWeightsResponse&, const SaveWeightsResponse&) = default;
};

/// What was loaded; both fields are empty where the service does not say.
struct LoadWeightsResponse {
  std::string path;
  std::string model_id;

  friend bool operator==(const LoadWeightsResponse&, const LoadWeightsResponse&) = default;
};

/// A saved set of weights in a layout that other programs read.
struct SaveWeightsExternalResponse {
  /// `tinker://<model_id>/external_weights/<name>`
  std::string path;

  friend bool operator==(const SaveWeightsExternalResponse&, const SaveWeightsExternalResponse&)
      = default;
};

/// A saved set of weights to sample from: a path if it was named, a sampling session if not.
struct SaveWeightsForSamplerResponse {
  std::optional<std::string> path;
  std::optional<std::string> sampling_session_id;

  friend bool operator==(const SaveWeightsForSamplerResponse&, const SaveWeightsForSamplerResponse&)
      = default;
};

} // namespace tinkaf
