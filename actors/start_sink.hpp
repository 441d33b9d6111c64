// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/restart_policy.hpp"

#include <caf/actor.hpp>
#include <caf/actor_addr.hpp>
#include <caf/actor_cast.hpp>
#include <caf/exit_reason.hpp>
#include <caf/local_actor.hpp>
#include <caf/send.hpp>

namespace tinkaf {

/// Tells the policy's sink, if there is one, that an actor was started. What it throws is dropped.
template <class Handle>
void tell_start(const RestartPolicy& policy, const Handle& actor) {
  if (!policy.on_start)
    return;
  const auto* local
      = dynamic_cast<const caf::local_actor*>(caf::actor_cast<caf::abstract_actor*>(actor));
  try {
    policy.on_start(local != nullptr ? local->name() : "actor", [address = actor.address()] {
      caf::anon_send_exit(address, caf::exit_reason::kill);
    });
  } catch (...) {
    return; // nobody's work depends on what a sink does
  }
}

} // namespace tinkaf
