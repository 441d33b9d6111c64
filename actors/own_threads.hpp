// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <caf/thread_hook.hpp>

namespace tinkaf {

/// True on a thread that ends with its actor system: one that runs actors, or a function of the
/// user's in their name. Whoever waits there for the end of that actor system waits for ever.
[[nodiscard]] bool on_own_thread() noexcept;

/// Makes the calling thread one of those from now on.
void mark_own_thread() noexcept;

/// Marks the threads of an actor system.
class OwnThreadHook : public caf::thread_hook {
public:
  void init(caf::actor_system&) override {}

  void thread_started() override {
    mark_own_thread();
  }

  void thread_terminates() override {}
};

} // namespace tinkaf
