// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/custom_loss.hpp"
#include "messages/error.hpp"
#include "messages/notice.hpp"
#include "messages/training.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "backend/backend.hpp"
#include "backend/checkpoint_rows.hpp"

namespace tinkaf {

/// What one step trains on.
struct StepBatch {
  /// None: the step is skipped.
  Batch datums;

  /// A loss of the service, or one of the caller's.
  std::variant<LossFn, CustomLossFn> loss = LossFn::cross_entropy;

  /// Settings of a loss of the service.
  LossFnConfig loss_fn_config;

  /// Written with the step, over metrics of all others of the same name.
  Metrics metrics;

  /// Episodes that it was made of; above 0 they are told of.
  std::size_t rollouts = 0;
};

/// Makes batches, and measures what came of them.
class StepBuilder {
public:
  virtual ~StepBuilder() = default;

  /// @returns an error to end the run
  [[nodiscard]] virtual Result<StepBatch> build(std::int64_t step) = 0;

  /// What a step's output tells. An error, or an exception, is told and stops nothing.
  [[nodiscard]] virtual Result<Metrics> step_metrics(const StepBatch& batch,
                                                     const ForwardBackwardOutput& output);
};

/// Measures weights now and then.
struct Evaluator {
  std::string name;

  /// Steps between two times; 0 for never.
  std::int64_t run_every = 0;

  /// An error, or an exception, is told and stops nothing.
  std::function<Result<Metrics>(BackendSampler& sampler, std::int64_t step)> evaluate;
};

/// Who is told how a run goes. What they throw is told and stops nothing.
struct LoopCallbacks {
  std::function<void()> on_train_start;
  std::function<void(std::int64_t step, const StepBatch& batch)> on_rollouts;

  /// Gets the row of metrics.
  std::function<void(std::int64_t step, const Metrics& row)> on_step_end;

  /// Gets the metrics of each evaluator that has not failed, by its name.
  std::function<void(std::int64_t step, const std::map<std::string, Metrics>& results)> on_eval;
  std::function<void(const CheckpointEntry& checkpoint)> on_checkpoint;
  std::function<void()> on_train_end;
};

struct LoopSettings {
  /// Where `metrics.jsonl` and `checkpoints.jsonl` go; made if need be.
  std::filesystem::path run_dir;

  AdamParams adam{.learning_rate = 1e-4, .eps = 1e-8};

  /// Rate of a step; that of `adam` where it is null.
  std::function<double(std::int64_t step)> lr;

  /// Steps between two checkpoints; 0 saves at the end only.
  std::int64_t save_every = 0;

  std::vector<Evaluator> evaluators;
  LoopCallbacks callbacks;

  /// Looked at behind each step: a callback that wants the run to end asks for a stop.
  std::stop_token stop;

  NoticeSink notices = notices_to_stderr();
};

struct LoopOutcome {
  std::filesystem::path run_dir;
  std::filesystem::path manifest;

  /// Of this run and of earlier ones in the folder.
  std::vector<CheckpointEntry> checkpoints;

  /// As they were asked for, also where a run was stopped.
  std::int64_t total_steps = 0;

  std::chrono::duration<double> training_time{};

  /// `run_dir`, and for each checkpoint `checkpoint-<name>`, its sampler path, and `state-<name>`.
  [[nodiscard]] std::map<std::string, std::string> flat() const;
};

/// Trains: for each step the gradient and the optimizer step are submitted together, then awaited,
/// measured and written; checkpoints and evaluators come in between, and a checkpoint `final` at
/// the end.
///
/// A step without datums is written as skipped, and no checkpoint is taken behind it. A checkpoint
/// is named `step_<steps done>`; its `batch` is the step to run next, so give that as `start_step`
/// to a run that goes on from it. Evaluators that are due share one snapshot, `eval_<steps done>`.
///
/// @param start_step in [0, num_steps)
/// @returns `Errc::invalid_argument` naming `num_steps` or `start_step`, or the line of a manifest
///   that is not understood, before anything is sent; the first error of the builder, the backend
///   or the folder
[[nodiscard]] Result<LoopOutcome> run_training_loop(Backend& backend, StepBuilder& builder,
                                                    const LoopSettings& settings,
                                                    std::int64_t num_steps,
                                                    std::int64_t start_step = 0);

} // namespace tinkaf
