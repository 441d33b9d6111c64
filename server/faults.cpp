// SPDX-License-Identifier: Apache-2.0
#include "server/faults.hpp"

#include <algorithm>
#include <vector>

namespace tinkaf::server {

namespace {

bool holds(const std::vector<std::size_t>& numbers, std::size_t number) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

} // namespace

Error played_fault() {
  return {.code = Errc::server_error,
          .message = "the engine failed, as it was asked to in test mode",
          .category = ErrorCategory::server};
}

bool any(const ServerFaults& faults) noexcept {
  return !faults.failed_operations.empty() || !faults.dropped_replies.empty()
         || !faults.delayed_replies.empty() || faults.model_wait.count() > 0
         || faults.disk_full_from > 0;
}

bool Faults::fails_operation() {
  return holds(wanted_.failed_operations, ++operations_);
}

bool Faults::disk_is_full() {
  const auto number = ++writes_;
  return wanted_.disk_full_from > 0 && number >= wanted_.disk_full_from
         && (wanted_.disk_full_writes == 0
             || number - wanted_.disk_full_from < wanted_.disk_full_writes);
}

Responder Faults::on_the_way(const Responder& responder) {
  if (wanted_.dropped_replies.empty() && wanted_.delayed_replies.empty())
    return responder;
  return Responder{[this, responder](HttpReply reply) { send(responder, std::move(reply)); }};
}

void Faults::send(const Responder& responder, HttpReply reply) {
  const auto number = ++replies_;
  if (holds(wanted_.delayed_replies, number)) {
    const std::lock_guard lock{mutex_};
    delayed_.emplace_back(Clock::now() + wanted_.reply_delay,
                          std::pair{responder, std::move(reply)});
    return;
  }
  reply.dropped = holds(wanted_.dropped_replies, number);
  responder.send(std::move(reply));
}

void Faults::tick(Clock::time_point now) {
  std::vector<std::pair<Responder, HttpReply>> due;
  {
    const std::lock_guard lock{mutex_};
    for (; !delayed_.empty() && delayed_.front().first <= now; delayed_.pop_front())
      due.push_back(std::move(delayed_.front().second));
  }
  for (auto& [responder, reply] : due)
    responder.send(std::move(reply));
}

} // namespace tinkaf::server
