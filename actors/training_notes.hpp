// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/interfaces.hpp"

#include <cstdint>

// Between a training client and the worker that does its work.

namespace tinkaf {

/// What the keeper of a training client is told by its worker. An operation goes by the id of the
/// request by which the keeper asked for it (see `call_id`).
using TrainingNotesActor = caf::typed_actor<
    // The operation's next turn has these numbers; answers when its requests may leave.
    Handles<Done(std::uint64_t, NumberedTurn)>,
    // The service has the request of that number; this is the name of its result.
    Handles<void(atom::accepted, std::int64_t, FutureRef)>,
    // A turn of the operation has ended, not all of whose requests were accepted; the number that
    // the next turn takes.
    Handles<void(atom::settled, std::uint64_t, std::int64_t)>,
    // Nothing can be numbered any more, because of this error.
    Handles<void(atom::lost, Error)>,
    // The service says what the model is an adapter of.
    Handles<void(atom::get_base_model, std::string)>,
    // The function of a custom loss has given this.
    Handles<void(atom::computed, std::uint64_t, LinearLossOutcome)>>;

/// Does the work of a training client, in one life of several.
using TrainingWorkerActor = TrainingClientActor::extend<
    // The second half of a custom loss whose function has given this: its backward pass.
    Handles<ForwardBackwardOutput(atom::custom_loss, LinearLossOutcome)>>;

/// A training client as its users see it, and as its worker does.
using TrainingKeeperActor
    = TrainingClientActor::extend<Handles<Done(std::uint64_t, NumberedTurn)>,
                                  Handles<void(atom::accepted, std::int64_t, FutureRef)>,
                                  Handles<void(atom::settled, std::uint64_t, std::int64_t)>,
                                  Handles<void(atom::lost, Error)>,
                                  Handles<void(atom::get_base_model, std::string)>,
                                  // INTERNAL: the pause before the worker's restart is over.
                                  Handles<void(atom::restart)>>;

} // namespace tinkaf
