// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "server/model/thread_pool.hpp"
#include "server/model/transformer.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace tinkaf::model {

/// A base model whose weights are all trained, with its gradients and moments.
class FullTraining {
public:
  /// Fresh weights: normal with deviation 0.02, smaller where a layer adds to the residual stream.
  FullTraining(const ModelConfig& config, std::uint64_t seed);

  const ModelConfig& config() const noexcept {
    return config_;
  }
  const BaseLayout& layout() const noexcept {
    return layout_;
  }
  const std::vector<float>& weights() const noexcept {
    return weights_;
  }

  /// Steps taken.
  std::size_t step_count() const noexcept {
    return step_;
  }

  using Windows = std::span<const std::span<const std::int32_t>>;

  /// Computes the gradient of the mean loss over all windows and takes one AdamW step. Each window
  /// holds its tokens and one more, which is only predicted.
  /// @returns the mean loss per token, in nats
  double step(Windows windows, double learning_rate, double weight_decay, ThreadPool& pool);

  /// Sum of the losses over a text, cut into windows of the context's length.
  double loss(std::span<const std::int32_t> text, ThreadPool& pool);

  /// Keeps weights, moments and step count in one file.
  [[nodiscard]] Result<void> save(const std::filesystem::path& file) const;
  [[nodiscard]] Result<void> load(const std::filesystem::path& file);

private:
  /// Work is cut into this many parts whatever the number of threads, which fixes the order of
  /// every sum.
  static constexpr std::size_t shards = 4;

  struct Shard {
    SequencePass pass;
    std::vector<float> gradient;
    double loss = 0.0;
  };

  WeightsView view() const noexcept;
  void apply_gradient(double learning_rate, double weight_decay);

  ModelConfig config_;
  BaseLayout layout_;
  RopeTable rope_;
  std::vector<float> weights_;
  std::vector<float> first_moment_;
  std::vector<float> second_moment_;
  std::size_t step_ = 0;
  std::vector<Shard> shards_;
};

} // namespace tinkaf::model
