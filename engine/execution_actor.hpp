// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/courier.hpp"
#include "actors/owed.hpp"
#include "messages/interfaces.hpp"

#include <caf/actor_system.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "engine/pipeline.hpp"

namespace tinkaf {

/// What comes next of a run; nothing behind the last result, and behind a failure.
struct ExecutionNext {
  std::optional<Step> step;
};

/// Runs a schedule over a training client and hands its results out in the order of the operations.
///
/// Each request for the next result is leave to hand out one more: nothing is submitted before the
/// first, and an endless schedule goes no further than it is read. Several may be asked for at
/// once. When the actor ends, so does the run; what is submitted is done and billed all the same.
using ExecutionActor = caf::typed_actor<
    // The next result; answered in the order of the requests.
    Handles<ExecutionNext(atom::next)>>;

} // namespace tinkaf

CAF_BEGIN_TYPE_ID_BLOCK(tinkaf_engine, caf::id_block::tinkaf_courier::end)

  CAF_ADD_TYPE_ID(tinkaf_engine, (tinkaf::ExecutionNext))

CAF_END_TYPE_ID_BLOCK(tinkaf_engine)

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::ExecutionNext)

namespace tinkaf {

/// A run, those who wait for its results, and the answers that came before their turn.
struct ExecutionState {
  using SelfPointer = ExecutionActor::stateful_pointer<ExecutionState>;

  explicit ExecutionState(SelfPointer ptr) : self(ptr) {}

  caf::typed_response_promise<ExecutionNext> next();

  /// Does what the pipeline says, as long as somebody wants a result and nothing is waited for.
  void advance();
  void submit(Pipeline::Send send);
  void on_answer(std::uint64_t ticket, Result<EngineAnswer> answer);
  void hand_out(std::optional<Step> step);

  SelfPointer self;
  TrainingClientActor client;
  std::optional<Pipeline> pipeline;
  std::map<std::uint64_t, Result<EngineAnswer>> answers;

  /// The request whose answer is waited for.
  std::optional<std::uint64_t> waiting;
  std::deque<Owed<ExecutionNext>> readers;

  static inline const char* name = "tinkaf.execution";
};

ExecutionActor::behavior_type execution(ExecutionState::SelfPointer self,
                                        TrainingClientActor client,
                                        std::shared_ptr<Pipeline> pipeline);

/// Starts to run a schedule, as `execute` does. Whoever starts it ends it.
/// @param cap as for `execute`
[[nodiscard]] ExecutionActor spawn_execution(caf::actor_system& system, TrainingClientActor client,
                                             Schedule schedule, std::shared_ptr<SpendCap> cap = {});

/// @param source is called by the actor and must not block
[[nodiscard]] ExecutionActor spawn_execution(caf::actor_system& system, TrainingClientActor client,
                                             OpSource source, std::shared_ptr<SpendCap> cap = {});

} // namespace tinkaf
