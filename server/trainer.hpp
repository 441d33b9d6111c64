// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/datum.hpp"
#include "messages/sampling.hpp"
#include "messages/training.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>

// The seam between the service and whatever does the arithmetic. Errors are values; an exception is
// taken for a broken trainer.

namespace tinkaf::text {
class Tokenizer;
} // namespace tinkaf::text

namespace tinkaf::server {

/// Weights to sample from, as they were at one moment. Immutable.
class Snapshot {
public:
  virtual ~Snapshot() = default;
};

/// Told of each token as it is drawn: which sequence it belongs to, that sequence so far, and
/// whether it is complete. Called by whatever thread draws, never twice at the same time; must not
/// block.
using TokenSink
    = std::function<void(std::size_t number, const SampledSequence& so_far, bool complete)>;

/// One adapter in training. Used by one thread at a time.
class TrainedModel {
public:
  virtual ~TrainedModel() = default;

  /// Rank, flags and the seed that was used.
  [[nodiscard]] virtual LoraConfig config() const = 0;

  /// Optimizer steps taken.
  [[nodiscard]] virtual std::int64_t step_count() const = 0;

  /// Loss and outputs; adds the gradient unless `forward_only`. All or nothing.
  /// @returns `Errc::cancelled` soon after a stop was asked for
  [[nodiscard]] virtual Result<ForwardBackwardOutput>
  forward_backward(std::span<const Datum> data, LossFn loss_fn,
                   const std::optional<LossFnConfig>& config, bool forward_only,
                   std::stop_token stop)
      = 0;

  /// Norms of the gathered gradient by tensor, as metrics: `grad_norm/<name>:mean`.
  [[nodiscard]] virtual Metrics gradient_norms() const {
    return {};
  }

  /// Applies the gathered gradient and clears it.
  [[nodiscard]] virtual Result<OptimStepResponse> optim_step(const AdamParams& params) = 0;

  /// Forgets the gathered gradient.
  virtual void drop_gradient() = 0;

  /// Writes all there is to a folder that does not exist yet, so that `Trainer::restore` makes a
  /// model that goes on with the same bits.
  [[nodiscard]] virtual Result<void> save_state(const std::filesystem::path& folder) = 0;

  /// Writes a complete checkpoint to a folder that does not exist yet.
  [[nodiscard]] virtual Result<void> save(const std::filesystem::path& folder, bool with_optimizer)
      = 0;

  /// The weights as they are now; later steps do not change what was returned.
  [[nodiscard]] virtual std::shared_ptr<const Snapshot> snapshot() = 0;
};

/// A base model and what can be done with it. Thread-safe.
class Trainer {
public:
  virtual ~Trainer() = default;

  /// What clients call the model.
  [[nodiscard]] virtual std::string name() const = 0;

  /// Kind of model, for example "llama".
  [[nodiscard]] virtual std::string arch() const = 0;

  /// Most tokens of a sequence.
  [[nodiscard]] virtual std::int64_t max_context_length() const = 0;

  /// What turns texts into tokens; null if that is not known.
  [[nodiscard]] virtual const text::Tokenizer* tokenizer() const {
    return nullptr;
  }

  // Checks that need no computation; the error names field, value and limit.

  [[nodiscard]] virtual Result<void>
  check_loss_config(LossFn loss_fn, const std::optional<LossFnConfig>& config) const = 0;
  [[nodiscard]] virtual Result<void> check_datum(const Datum& datum, LossFn loss_fn,
                                                 std::size_t index) const = 0;
  [[nodiscard]] virtual Result<void> check_sample(const SampleRequest& request) const = 0;

  /// A new adapter that leaves the base as it is.
  [[nodiscard]] virtual Result<std::unique_ptr<TrainedModel>> create(const LoraConfig& config) = 0;

  /// An adapter from a folder that `TrainedModel::save` wrote.
  [[nodiscard]] virtual Result<std::unique_ptr<TrainedModel>>
  load(const std::filesystem::path& folder, bool with_optimizer) = 0;

  /// An adapter to be trained on, of one that PEFT has written to a folder.
  [[nodiscard]] virtual Result<std::unique_ptr<TrainedModel>>
  import_adapter(const std::filesystem::path& folder);

  /// A folder that `TrainedModel::save` wrote, and its share in a sum.
  struct Share {
    std::filesystem::path folder;
    double weight = 1.0;
  };

  /// An adapter that changes the base by the weighted sum of what others change.
  /// @pre there is at least one
  [[nodiscard]] virtual Result<std::unique_ptr<TrainedModel>> merge(std::span<const Share> shares);

  /// A model as it was, from a folder that `TrainedModel::save_state` wrote.
  [[nodiscard]] virtual Result<std::unique_ptr<TrainedModel>>
  restore(const std::filesystem::path& folder) = 0;

  /// Weights to sample from, from a folder that `TrainedModel::save` wrote.
  [[nodiscard]] virtual Result<std::shared_ptr<const Snapshot>>
  load_snapshot(const std::filesystem::path& folder) = 0;

  /// Draws continuations. The request has a seed.
  /// @param weights what to sample from; null for the base itself
  /// @param sink told of each token, unless it is empty
  [[nodiscard]] virtual Result<SampleResponse>
  sample(const std::shared_ptr<const Snapshot>& weights, const SampleRequest& request,
         std::stop_token stop, const TokenSink& sink)
      = 0;
};

} // namespace tinkaf::server
