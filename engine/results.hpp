// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "messages/training.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/ops.hpp"

// What became of a schedule's operations.

namespace tinkaf {

/// Tensors by name for each datum, in the order of the batch; `logprobs` has the shape of
/// `target_tokens`.
using DatumOutputs = std::vector<std::map<std::string, TensorData>>;

/// A step is done.
struct TrainDone {
  TrainOp op;

  /// Loss and outputs before the step.
  ForwardBackwardOutput output;
};

struct ScoreDone {
  ScoreOp op;
  DatumOutputs outputs;
};

struct SnapshotDone {
  SnapshotOp op;

  /// `tinker://<run>/sampler_weights/<name>`
  std::string sampler_path;

  /// `tinker://<run>/weights/<name>`
  std::string state_path;

  /// Of `op.eval`; absent if there was nothing to score.
  std::optional<DatumOutputs> outputs;
};

using OpResult = std::variant<TrainDone, ScoreDone, SnapshotDone>;

/// A snapshot of which something was saved although its result was never handed out.
struct SavedPaths {
  std::string name;

  /// Empty if that save failed.
  std::string sampler_path;
  std::string state_path;

  friend bool operator==(const SavedPaths&, const SavedPaths&) = default;
};

/// Why a schedule ended early. Everything in front of `op` has been handed out.
struct Failure {
  /// What went wrong first among the operations under way; if nothing did, what kept the next one
  /// from being submitted. The message names the operation.
  Error error;

  /// Place in the schedule of the operation that failed, from 0.
  std::size_t op = 0;

  /// Operations behind it that had been submitted, or half of them. They were waited for, unless
  /// `error` is `Errc::cancelled`, and are not handed out; they take effect, unless they fail
  /// themselves, and are billed.
  std::size_t in_flight = 0;

  /// What went wrong with them, in their order.
  std::vector<Error> behind;

  /// What kept an operation behind it from being submitted, if something did.
  std::optional<Error> deferred;

  /// Checkpoints of the operation itself, and of those behind it.
  std::vector<SavedPaths> saved;
};

/// One result of a schedule, or why there are no more.
using Step = tl::expected<OpResult, Failure>;

} // namespace tinkaf
