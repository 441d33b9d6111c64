// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/custom_loss.hpp"
#include "messages/training.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// What is to be done, as values: a schedule is made once and can then be checked, priced and run,
// also more than once, without a copy of the data.

namespace tinkaf {

/// The service's loss `cross_entropy`.
struct CrossEntropy {
  /// Times that the data go through the model.
  static constexpr int passes = 1;
};

/// A loss of the caller's, see `CustomLossFn`.
struct Custom {
  CustomLossFn fn;

  /// A pass for the log-probabilities and one for the gradient.
  static constexpr int passes = 2;
};

using TrainLoss = std::variant<CrossEntropy, Custom>;

/// Times that a loss sends the data through the model; a property of its type.
[[nodiscard]] inline int passes(const TrainLoss& loss) noexcept {
  return std::visit([](const auto& x) { return x.passes; }, loss);
}

/// One step: the gradient of a batch, and the optimizer step that applies it.
struct TrainOp {
  Batch datums;
  TrainLoss loss;

  /// Learning rate of the step; at least 0. All else is as `AdamParams` has it.
  double lr = 1e-4;
};

/// One forward pass under cross_entropy, which leaves no trace in the model.
struct ScoreOp {
  Batch datums;
};

/// Saves both checkpoints, one to sample from and one to train on, under one name.
struct SnapshotOp {
  /// Not empty, without slashes, new to the run: the service refuses a second state of that name.
  std::string name;

  /// How long both are kept, at least a second; for ever if absent.
  std::optional<std::chrono::seconds> ttl;

  /// Scored against exactly these weights; null or empty for none.
  Batch eval;
};

using Op = std::variant<TrainOp, ScoreOp, SnapshotOp>;

/// Operations in the order in which they take effect.
using Schedule = std::vector<Op>;

/// True if there is something to score.
[[nodiscard]] inline bool has_eval(const SnapshotOp& op) noexcept {
  return op.eval && !op.eval->empty();
}

} // namespace tinkaf
