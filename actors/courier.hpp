// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/caf_types.hpp"
#include "messages/interfaces.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include <functional>

namespace tinkaf {

/// Something to be asked in the courier's name.
using CourierTask = std::function<void(caf::event_based_actor*)>;

/// Asks on behalf of code that is no actor. All requests go through one courier, since CAF keeps
/// the order of messages only between one sender and one receiver.
caf::behavior courier(caf::event_based_actor* self);

/// Settings of an actor system for client actors alone: two threads, which sleep while there is
/// nothing to do, since none of our actors computes for long.
caf::actor_system_config& configure_for_clients(caf::actor_system_config& config);

} // namespace tinkaf

CAF_BEGIN_TYPE_ID_BLOCK(tinkaf_courier, caf::id_block::tinkaf_handles::end)

  CAF_ADD_TYPE_ID(tinkaf_courier, (tinkaf::CourierTask))

CAF_END_TYPE_ID_BLOCK(tinkaf_courier)

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::CourierTask)
