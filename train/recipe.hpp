// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "messages/training.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "train/batch_plan.hpp"
#include "train/patience.hpp"
#include "train/step_row.hpp"

namespace tinkaf::train {

/// What a step is to work on.
struct StepPlan {
  /// Counted from 0 through the whole run.
  std::size_t step = 0;

  LoaderPosition position;

  /// Indices of rows of the data, in the order in which they are sent.
  std::vector<std::size_t> rows;

  /// With the learning rate of this step.
  AdamParams adam;

  /// The run was stopped and saved right before this step, which it may have begun and given up.
  bool after_stop = false;
};

/// What a step has come to.
struct StepResult {
  /// Its own columns of `metrics.jsonl`.
  Columns columns;

  /// Tokens that it worked on.
  std::int64_t tokens = 0;

  /// Turns of the training client that it took: an operation is one, a custom loss two.
  std::size_t turns = 0;
};

/// A step whose operations have been asked for.
class OpenStep {
public:
  virtual ~OpenStep() = default;

  /// Waits for its results.
  [[nodiscard]] virtual Result<StepResult> finish(Patience& patience) = 0;
};

/// What is done in each step of a run. Used by one thread.
///
/// A recipe asks for the same operations in the same order whenever it is given the same plan and a
/// model in the same state: a run that goes on behind a crash asks again for those whose results
/// were not in, and gets the same answers.
class Recipe {
public:
  virtual ~Recipe() = default;

  /// Asks for the operations of a step; may wait for what these are made of, such as samples, and
  /// give that up when the run is stopped, see `Patience::wait_unless_stopped`.
  [[nodiscard]] virtual Result<std::unique_ptr<OpenStep>> submit(const StepPlan& plan,
                                                                 Patience& patience)
      = 0;

  /// Asks again, with nobody waiting, for the operations behind which an earlier process may have
  /// given a step up.
  /// @returns how many turns that is; 0, with nothing asked for, if the step was not given up there
  [[nodiscard]] virtual std::size_t begin_given_up(const StepPlan& plan) {
    static_cast<void>(plan);
    return 0;
  }
};

} // namespace tinkaf::train
