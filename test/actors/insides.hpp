// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/front.hpp"
#include "actors/sampling_keeper.hpp"
#include "actors/session.hpp"
#include "actors/training_keeper.hpp"
#include "test/catch.hpp"

#include <caf/actor_cast.hpp>

#include <type_traits>

namespace tinkaf::test {

/// The state of an actor, so that a test can break a part of it.
template <class State, class Handle>
State& state_of(const Handle& actor) {
  using Actor = std::remove_pointer_t<typename State::SelfPointer>;
  auto* whole = dynamic_cast<Actor*>(caf::actor_cast<caf::abstract_actor*>(actor));
  REQUIRE(whole != nullptr);
  return whole->state;
}

/// Who stands behind a front at the moment.
template <class Handle>
caf::actor behind(const Handle& front) {
  return state_of<FrontState>(front).instance;
}

inline caf::actor worker_of(const TrainingClientActor& client) {
  return caf::actor_cast<caf::actor>(state_of<TrainingKeeperState>(client).worker);
}

inline caf::actor worker_of(const SamplingClientActor& client) {
  return caf::actor_cast<caf::actor>(state_of<SamplingKeeperState>(client).worker);
}

} // namespace tinkaf::test
