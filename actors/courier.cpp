// SPDX-License-Identifier: Apache-2.0
#include "actors/courier.hpp"

#include "actors/exceptions.hpp"
#include "actors/own_threads.hpp"

#include <cstddef>

namespace tinkaf {

caf::behavior courier(caf::event_based_actor* self) {
  end_on_exception(self);
  return {[self](CourierTask& task) { task(self); }};
}

caf::actor_system_config& configure_for_clients(caf::actor_system_config& config) {
  config.set("scheduler.policy", caf::atom("sharing"));
  config.set("scheduler.max-threads", std::size_t{2});
  config.add_thread_hook<OwnThreadHook>();
  return config;
}

} // namespace tinkaf
