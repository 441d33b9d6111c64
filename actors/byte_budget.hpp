// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/holders.hpp"
#include "actors/owed.hpp"
#include "messages/interfaces.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cstdint>
#include <deque>
#include <map>

namespace tinkaf {

/// Bytes that are lent to actors and come back by message or when their holder ends.
///
/// An acquirer waits, first come first served, while the balance is negative; so a single one may
/// overdraw it by any amount, and nothing is too large ever to pass. One that ends while it waits
/// is skipped.
struct ByteBudgetState {
  using SelfPointer = ByteBudgetActor::stateful_pointer<ByteBudgetState>;

  struct Grant {
    std::int64_t bytes = 0;
    caf::actor_addr holder;
  };

  struct Waiter {
    std::int64_t bytes = 0;
    caf::actor_addr holder;
    Owed<std::uint64_t> answer;
  };

  explicit ByteBudgetState(SelfPointer ptr) : self(ptr), holders(ptr) {}

  caf::typed_response_promise<std::uint64_t> acquire(std::int64_t bytes);
  void release(std::uint64_t grant);
  void resize(std::int64_t bytes);
  void on_down(const caf::actor_addr& holder);
  void admit();

  SelfPointer self;
  Holders<ByteBudgetActor::stateful_base<ByteBudgetState>> holders;
  std::int64_t total = 0;
  std::int64_t balance = 0;
  std::map<std::uint64_t, Grant> grants;
  std::deque<Waiter> waiting;
  std::uint64_t last_grant = 0;

  static inline const char* name = "tinkaf.byte-budget";
};

/// @param bytes what may be lent at a time
ByteBudgetActor::behavior_type byte_budget(ByteBudgetState::SelfPointer self, std::int64_t bytes);

} // namespace tinkaf
