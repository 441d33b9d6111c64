// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/interfaces.hpp"
#include "messages/restart_policy.hpp"

#include <caf/actor.hpp>
#include <caf/actor_control_block.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/message.hpp>
#include <caf/message_id.hpp>
#include <caf/stateful_actor.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

namespace tinkaf {

/// Starts the actor that stands behind a front.
using Starter = std::function<caf::actor(caf::event_based_actor*)>;

/// The lasting address of an actor that is started again when it breaks.
///
/// A front passes each message on as it is: who stands behind it sees the asker and answers it
/// directly. It reads and keeps none of them, so that nothing in it can break. What the actor owed
/// when it broke is answered by CAF's own errors; whoever asked asks again (see `ask_supervised`).
/// Messages that arrive during the pause before a restart wait for its end.
///
/// An actor that ends in order, or breaks more often than the policy allows, ends its front.
struct FrontState {
  using SelfPointer = caf::stateful_actor<FrontState>*;

  /// A message that waits for a restart.
  struct Waiting {
    caf::strong_actor_ptr sender;
    caf::message_id id;
    caf::message content;
  };

  explicit FrontState(SelfPointer ptr) : self(ptr) {}

  /// Stops the actor behind.
  ~FrontState();
  FrontState(const FrontState&) = delete;
  FrontState& operator=(const FrontState&) = delete;

  void start();
  void on_down(const caf::down_msg& down);
  void pass_on(caf::message content);

  /// Answers those that wait with an error.
  void refuse_waiting(const caf::error& reason);
  void tell(bool running, std::string reason) const;

  SelfPointer self;
  Starter starter;
  RestartPolicy policy;
  RestartCounter counter;

  /// Told of breakages and restarts; may be invalid.
  SessionActor watcher;

  /// Sent to every new instance before all else, in this order.
  std::vector<caf::message> setup;

  /// Invalid during a pause.
  caf::actor instance;
  std::deque<Waiting> waiting;

  static inline const char* name = "tinkaf.front";
};

/// A front is told what every instance is to know by `(atom::setup, caf::message)`.
caf::behavior front(FrontState::SelfPointer self, Starter starter, RestartPolicy policy,
                    SessionActor watcher);

} // namespace tinkaf
