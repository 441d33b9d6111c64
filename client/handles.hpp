// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/service.hpp"
#include "messages/interfaces.hpp"

// From plain code to actors: the one header of this folder that needs CAF.

namespace tinkaf {

/// The actors behind the façade. They end with the last client of their service.
[[nodiscard]] SessionActor handle(const Service& service);
[[nodiscard]] TrainingClientActor handle(const TrainingClient& client);
[[nodiscard]] SamplingClientActor handle(const SamplingClient& client);
[[nodiscard]] RestClientActor handle(const RestClient& client);

/// Where those actors live; others may be spawned there, and must end before the service does. A
/// thread that spawns one, or has a `caf::scoped_actor`, has to end the service itself or to end
/// before: CAF keeps the end of an actor system waiting for it.
[[nodiscard]] caf::actor_system& actor_system(const Service& service);

} // namespace tinkaf
