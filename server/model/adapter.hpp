// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/training.hpp"
#include "server/model/base_model.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace tinkaf::model {

/// The LoRA weights of one moment. Immutable once shared; any number of threads may read it. The
/// base is shared and not copied, so that this is as small as the adapter.
class AdapterWeights {
public:
  AdapterWeights(std::shared_ptr<const BaseModel> base, LoraConfig config);

  /// Reads `adapter_model.safetensors` and `adapter_config.json` from a folder.
  /// @returns `Errc::io_error` or `Errc::invalid_argument`, naming file and field; among others
  ///          when the adapter belongs to a base of another name or shape
  [[nodiscard]] static Result<std::shared_ptr<const AdapterWeights>>
  load(std::shared_ptr<const BaseModel> base, const std::filesystem::path& folder);

  const std::shared_ptr<const BaseModel>& base() const noexcept {
    return base_;
  }

  /// Rank, flags and the seed that was used.
  const LoraConfig& config() const noexcept {
    return config_;
  }
  const AdapterLayout& layout() const noexcept {
    return layout_;
  }

  /// A and B of all adapted matrices, in the order of `layout()`.
  const std::vector<float>& parameters() const noexcept {
    return parameters_;
  }

  /// The base with the adapter on top. Borrows from this object.
  WeightsView view() const noexcept;

private:
  friend class Adapter;

  static Result<std::shared_ptr<AdapterWeights>> read_weights(std::shared_ptr<const BaseModel> base,
                                                              const std::filesystem::path& folder);

  std::shared_ptr<const BaseModel> base_;
  LoraConfig config_;
  AdapterLayout layout_;
  std::vector<float> parameters_;
};

/// A LoRA adapter in training: weights, gradients gathered so far, and optimizer state, all in
/// float32. Not thread-safe: one operation at a time. What `snapshot` returns is.
class Adapter {
public:
  /// A new adapter that leaves the base as it is: B = 0 and A uniform in ±1/sqrt(in), drawn per
  /// tensor from (seed, tensor name). An absent seed is drawn and kept in `config()`.
  /// @returns `Errc::invalid_argument` naming the bad field
  [[nodiscard]] static Result<Adapter> create(std::shared_ptr<const BaseModel> base,
                                              LoraConfig config);

  /// Reads what `save` wrote. Without optimizer state its moments start at zero.
  /// @param with_optimizer also read `optimizer.safetensors` and `training_state.json`
  /// @returns `Errc::io_error` or `Errc::invalid_argument`, naming file and field
  [[nodiscard]] static Result<Adapter> load(std::shared_ptr<const BaseModel> base,
                                            const std::filesystem::path& folder,
                                            bool with_optimizer);

  /// Writes a checkpoint folder in the PEFT layout: `adapter_model.safetensors`,
  /// `adapter_config.json` and, with the optimizer, `optimizer.safetensors` and
  /// `training_state.json`. Gathered gradients are not saved.
  /// The folder appears complete or not at all; an older one of that name is replaced.
  /// @returns `Errc::io_error` naming the file and the reason, for example a full disk
  [[nodiscard]] Result<void> save(const std::filesystem::path& folder, bool with_optimizer) const;

  /// Writes a checkpoint with the optimizer and, besides, the gathered gradient as
  /// `gradient.safetensors`.
  [[nodiscard]] Result<void> save_state(const std::filesystem::path& folder) const;

  /// Reads what `save_state` wrote: the same bits, and the same from then on.
  [[nodiscard]] static Result<Adapter> restore(std::shared_ptr<const BaseModel> base,
                                               const std::filesystem::path& folder);

  /// The weights as they are now. Later steps do not change what was returned.
  [[nodiscard]] std::shared_ptr<const AdapterWeights> snapshot();

  const AdapterWeights& weights() const noexcept {
    return *weights_;
  }
  const std::shared_ptr<const BaseModel>& base() const noexcept {
    return weights_->base();
  }
  const LoraConfig& config() const noexcept {
    return weights_->config();
  }

  /// Optimizer steps taken.
  std::int64_t step_count() const noexcept {
    return step_;
  }

  /// The gathered gradient, in the order of the layout; zero after a step.
  const std::vector<float>& gradient() const noexcept {
    return gradient_;
  }

  /// Adds `gradient` to what is gathered. Shape: [layout size].
  void add_gradient(const std::vector<float>& gradient);

  /// Forgets what is gathered.
  void drop_gradient();

  /// One AdamW step; see `optim_step`.
  [[nodiscard]] Result<Metrics> step(const AdamParams& params);

  /// Replaces all LoRA parameters, in the order of the layout. For tests and imports.
  void set_parameters(const std::vector<float>& parameters);

private:
  explicit Adapter(std::shared_ptr<AdapterWeights> weights);

  enum class Extent : std::uint8_t { weights, optimizer, gradient };
  [[nodiscard]] Result<void> write(const std::filesystem::path& folder, Extent extent) const;

  [[nodiscard]] tl::unexpected<Error> refuse_step(const std::string& reason,
                                                  ErrorCategory category);

  /// The weights, copied first if a snapshot still looks at them.
  AdapterWeights& writable();

  std::shared_ptr<AdapterWeights> weights_;
  bool shared_ = false;
  std::vector<float> gradient_;
  std::vector<float> first_moment_;
  std::vector<float> second_moment_;
  std::int64_t step_ = 0;
};

} // namespace tinkaf::model
