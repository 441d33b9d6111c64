// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/holders.hpp"
#include "actors/loss_threads.hpp"
#include "actors/owed.hpp"
#include "actors/submit_lane.hpp"
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
/// that fails loses none. An asker that ends gives its losses up: their functions are asked to stop
/// and the lane goes on.
class CustomLosses {
public:
  using Self = TrainingClientActor::base*;

  /// @param lane of the client; outlives this
  CustomLosses(Self self, SubmitLane& lane, std::shared_ptr<LossThreads> threads,
               ChunkLimits limits);

  /// Asks all functions that run to stop; what they return is dropped.
  ~CustomLosses();
  CustomLosses(const CustomLosses&) = delete;
  CustomLosses& operator=(const CustomLosses&) = delete;

  /// Checks and queues a loss.
  void start(Batch data, CustomLossFn loss, const Owed<ForwardBackwardOutput>& answer,
             const caf::strong_actor_ptr& asker);

  /// A function has returned; ignored if its loss was given up.
  void on_computed(std::uint64_t id, Result<LinearLoss> computed);

  /// Gives up the losses of an asker that has ended.
  void on_down(const caf::actor_addr& asker);

private:
  /// Where a thread sends its result to; nowhere once the loss is given up.
  struct Link;

  struct Run {
    Batch data;
    CustomLossFn loss;
    Owed<ForwardBackwardOutput> answer;
    caf::actor_addr asker;
    std::stop_source stop;
    std::shared_ptr<Link> link;
  };

  void on_forward(std::uint64_t id, Result<std::vector<FutureValue>> results);
  void compute(std::uint64_t id, std::vector<TensorData> logprobs);
  void submit_backward(std::uint64_t id, LinearLoss linear);
  void fail_run(std::uint64_t id, Error error);

  /// Forgets a loss and lets its function stop; its answer and the lane are the caller's.
  Run take(std::uint64_t id);

  Self self_;
  SubmitLane& lane_;
  std::shared_ptr<LossThreads> threads_;
  ChunkLimits limits_;
  Holders<TrainingClientActor::base> askers_;
  std::map<std::uint64_t, Run> runs_;
  std::uint64_t last_id_ = 0;
};

} // namespace tinkaf
