// SPDX-License-Identifier: Apache-2.0
#include "actors/sampling_gate.hpp"

#include "actors/exceptions.hpp"
#include "api/backoff.hpp"
#include "api/random.hpp"

#include <algorithm>
#include <utility>

namespace tinkaf {

namespace {

using Millis = std::chrono::milliseconds;

} // namespace

caf::typed_response_promise<std::uint64_t> SamplingGateState::acquire(std::int64_t bytes) {
  auto sender = self->current_sender(); // the promise takes it away
  holders.add(sender);
  auto answer = owe<std::uint64_t>(self);
  waiting.push_back(
      {caf::actor_cast<caf::actor_addr>(sender), std::max<std::int64_t>(bytes, 0), answer});
  admit();
  return answer.promise();
}

bool SamplingGateState::recently_refused() {
  return closed_until && self->clock().now() - *closed_until < settings.recent;
}

void SamplingGateState::admit() {
  while (!waiting.empty() && grants.size() < settings.max_submissions && balance >= 0) {
    auto careful = recently_refused();
    if (careful && throttled >= settings.max_throttled)
      return;
    auto next = std::move(waiting.front());
    waiting.pop_front();
    auto id = ++last_grant;
    auto charge = careful ? next.bytes * settings.throttled_factor : next.bytes;
    balance -= charge;
    throttled += careful ? 1 : 0;
    grants.emplace(id, Grant{next.holder, next.bytes, charge, careful,
                             [answer = next.answer, id] { answer.deliver(id); }});
    pass(id);
  }
}

void SamplingGateState::pass(std::uint64_t grant) {
  auto now = self->clock().now();
  if (closed_until && now < *closed_until) {
    auto wait = std::chrono::ceil<Millis>(*closed_until - now);
    self->delayed_send(self, scale(wait, 1.0 + settings.jitter * random_draw()), atom::look_v,
                       grant);
    return;
  }
  if (auto go = std::exchange(grants.at(grant).go, nullptr))
    go();
}

void SamplingGateState::look(std::uint64_t grant) {
  if (grants.contains(grant))
    pass(grant);
  admit();
}

caf::typed_response_promise<bool> SamplingGateState::back_off(std::uint64_t grant, Millis asked) {
  auto answer = owe<bool>(self);
  auto found = grants.find(grant);
  if (found == grants.end()) {
    answer.fail({Errc::cancelled, "the sample has been given up"});
    return answer.promise();
  }
  auto wait
      = found->second.bytes <= settings.large_bytes ? settings.short_wait : settings.long_wait;
  wait = std::max(wait, std::min(asked, settings.max_wait));
  auto until = self->clock().now() + wait;
  closed_until = closed_until ? std::max(*closed_until, until) : until;
  // When caution ends, the queue may move although nobody gives anything back.
  self->delayed_send(self, wait + settings.recent, atom::look_v, std::uint64_t{0});
  found->second.go = [answer] { answer.deliver(true); };
  pass(grant);
  return answer.promise();
}

void SamplingGateState::forget(const Grant& grant) {
  balance += grant.charge;
  throttled -= grant.throttled ? 1 : 0;
}

void SamplingGateState::release(std::uint64_t grant) {
  auto node = grants.extract(grant);
  if (node.empty())
    return;
  forget(node.mapped());
  holders.remove(node.mapped().holder);
  admit();
}

void SamplingGateState::resize(std::int64_t bytes) {
  balance += bytes - settings.bytes;
  settings.bytes = bytes;
  admit();
}

void SamplingGateState::on_down(const caf::actor_addr& holder) {
  holders.forget(holder);
  std::erase_if(waiting, [&](const Waiter& x) { return x.holder == holder; });
  std::erase_if(grants, [&](const auto& x) {
    if (x.second.holder != holder)
      return false;
    forget(x.second);
    return true;
  });
  admit();
}

SamplingGateActor::behavior_type sampling_gate(SamplingGateState::SelfPointer self,
                                               SamplingGateSettings settings) {
  end_on_exception(self);
  self->state.balance = settings.bytes;
  self->state.settings = settings;
  self->set_down_handler([self](const caf::down_msg& x) { self->state.on_down(x.source); });
  return {
      [self](atom::acquire, std::int64_t bytes) { return self->state.acquire(bytes); },
      [self](atom::back_off, std::uint64_t grant, caf::timespan asked) {
        return self->state.back_off(grant, std::chrono::duration_cast<Millis>(asked));
      },
      [self](atom::release, std::uint64_t grant) { self->state.release(grant); },
      [self](atom::resize, std::int64_t bytes) { self->state.resize(bytes); },
      [self](atom::look, std::uint64_t grant) { self->state.look(grant); },
  };
}

} // namespace tinkaf
