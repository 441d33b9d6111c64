// SPDX-License-Identifier: Apache-2.0
#include "client/handles.hpp"

#include "client/access.hpp"

namespace tinkaf {

SessionActor handle(const Service& service) {
  return ClientAccess::impl(service).runtime->session();
}

TrainingClientActor handle(const TrainingClient& client) {
  return ClientAccess::impl(client).actor;
}

SamplingClientActor handle(const SamplingClient& client) {
  return ClientAccess::impl(client).actor;
}

RestClientActor handle(const RestClient& client) {
  return ClientAccess::impl(client).actor;
}

caf::actor_system& actor_system(const Service& service) {
  return ClientAccess::impl(service).runtime->system();
}

} // namespace tinkaf
