// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/interfaces.hpp"
#include "messages/operation_log.hpp"

#include <caf/actor_system.hpp>

#include <memory>

namespace tinkaf {

/// Starts a ledger that writes to `log`, on a thread of its own since a log may wait for a disk.
/// Whoever starts it ends it.
///
/// A note that fails is the last one: all behind it fail likewise, so that no operation takes the
/// place of one that was to come before. Attach a client with another ledger to go on.
///
/// The name of a result that cannot be written down is let go: its request is sent again under its
/// number if it comes to that, and a log that is broken fails the next note.
[[nodiscard]] LedgerActor spawn_ledger(caf::actor_system& system,
                                       std::shared_ptr<OperationLog> log);

} // namespace tinkaf
