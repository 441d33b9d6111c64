// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/loss_threads.hpp"
#include "actors/owed.hpp"
#include "actors/submit_lane.hpp"
#include "actors/training_notes.hpp"
#include "api/chunking.hpp"
#include "messages/custom_loss.hpp"
#include "messages/interfaces.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>

namespace tinkaf {

/// The custom losses of one training client. Part of its actor, never blocks it.
///
/// A custom loss is a forward pass, the user's function on a thread of its own, and a backward pass
/// whose weights are minus the function's gradients (wire flow of the official SDK). It holds the
/// lane from the forward pass until the backward pass is on its way: what was asked for later takes
/// its numbers behind both, and the backward pass takes its own when it leaves, so that a function
/// that fails loses none. A loss that is given up asks its function to stop, and the lane goes on.
class CustomLosses {
public:
  using Self = TrainingWorkerActor::base*;

  /// @param lane of the client; outlives this
  /// @param notes gets what functions return; may be invalid
  CustomLosses(Self self, SubmitLane& lane, std::shared_ptr<LossThreads> threads,
               ChunkLimits limits, TrainingNotesActor notes);

  /// Asks all functions that run to stop; what they return is dropped.
  ~CustomLosses();
  CustomLosses(const CustomLosses&) = delete;
  CustomLosses& operator=(const CustomLosses&) = delete;

  /// Checks and queues a loss.
  /// @param asked the id of the request for it
  void start(Batch data, CustomLossFn loss, const Owed<ForwardBackwardOutput>& answer,
             std::uint64_t asked);

  /// Queues the backward pass of a loss whose function has returned already.
  void go_on(const LinearLoss& computed, const Owed<ForwardBackwardOutput>& answer,
             std::uint64_t asked);

  /// A function has returned; ignored if its loss was given up.
  void on_computed(std::uint64_t id, const LinearLossOutcome& computed);

  /// Gives up the loss that was asked for by this request, unless its backward pass is under way.
  void cancel(std::uint64_t asked);

private:
  /// Where a thread sends its result to; nowhere once the loss is given up.
  struct Link;

  struct Run {
    Batch data;
    CustomLossFn loss;
    Owed<ForwardBackwardOutput> answer;
    std::uint64_t asked = 0;
    std::stop_source stop;
    std::shared_ptr<Link> link;
  };

  void on_forward(std::uint64_t id, Result<std::vector<FutureValue>> results);
  void compute(std::uint64_t id, std::vector<TensorData> logprobs);
  void submit_backward(std::uint64_t id, const LinearLoss& linear);
  [[nodiscard]] SubmitTurn backward_turn(const LinearLoss& linear,
                                         const Owed<ForwardBackwardOutput>& answer,
                                         std::uint64_t asked) const;
  void fail_run(std::uint64_t id, Error error);

  /// Forgets a loss and lets its function stop; its answer and the lane are the caller's.
  Run take(std::uint64_t id);

  Self self_;
  SubmitLane& lane_;
  std::shared_ptr<LossThreads> threads_;
  ChunkLimits limits_;
  TrainingNotesActor notes_;
  std::map<std::uint64_t, Run> runs_;
  std::uint64_t last_id_ = 0;
};

} // namespace tinkaf
