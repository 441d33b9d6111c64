// SPDX-License-Identifier: Apache-2.0
#include "actors/byte_budget.hpp"

#include "actors/exceptions.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tinkaf {

caf::typed_response_promise<std::uint64_t> ByteBudgetState::acquire(std::int64_t bytes) {
  auto sender = self->current_sender(); // the promise takes it away
  holders.add(sender);
  auto answer = owe<std::uint64_t>(self);
  waiting.push_back(
      {std::max<std::int64_t>(bytes, 0), caf::actor_cast<caf::actor_addr>(sender), answer});
  admit();
  return answer.promise();
}

void ByteBudgetState::release(std::uint64_t grant) {
  auto node = grants.extract(grant);
  if (node.empty())
    return;
  balance += node.mapped().bytes;
  holders.remove(node.mapped().holder);
  admit();
}

void ByteBudgetState::resize(std::int64_t bytes) {
  balance += bytes - total;
  total = bytes;
  admit();
}

void ByteBudgetState::on_down(const caf::actor_addr& holder) {
  holders.forget(holder);
  std::erase_if(waiting, [&](const Waiter& x) { return x.holder == holder; });
  for (auto i = grants.begin(); i != grants.end();) {
    auto held = i->second.holder == holder;
    balance += held ? i->second.bytes : 0;
    i = held ? grants.erase(i) : std::next(i);
  }
  admit();
}

void ByteBudgetState::admit() {
  while (!waiting.empty() && balance >= 0) {
    auto next = std::move(waiting.front());
    waiting.pop_front();
    balance -= next.bytes;
    auto grant = ++last_grant;
    grants.emplace(grant, Grant{next.bytes, next.holder});
    next.answer.deliver(grant);
  }
}

ByteBudgetActor::behavior_type byte_budget(ByteBudgetState::SelfPointer self, std::int64_t bytes) {
  end_on_exception(self);
  self->state.resize(bytes);
  self->set_down_handler([self](const caf::down_msg& x) { self->state.on_down(x.source); });
  return {
      [self](atom::acquire, std::int64_t wanted) { return self->state.acquire(wanted); },
      [self](atom::release, std::uint64_t grant) { self->state.release(grant); },
      [self](atom::resize, std::int64_t total) { self->state.resize(total); },
  };
}

} // namespace tinkaf
