// SPDX-License-Identifier: Apache-2.0
#include "actors/front.hpp"

#include "actors/exceptions.hpp"
#include "actors/exit_reasons.hpp"
#include "actors/start_sink.hpp"

#include <caf/abstract_actor.hpp>
#include <caf/actor_cast.hpp>
#include <caf/exit_reason.hpp>
#include <caf/sec.hpp>
#include <caf/send.hpp>

#include <string>
#include <utility>

namespace tinkaf {

namespace {

/// Whether an actor takes no more messages, although word of its end may still be under way: who
/// asks it again and again until then has no tries left when the next one is there. It has ended
/// before it lets go of what it owes, so whoever hears of that and asks again finds it so; its
/// mailbox is closed later.
bool has_ended(const caf::actor& actor) {
  constexpr auto ended
      = caf::abstract_actor::is_shutting_down_flag | caf::abstract_actor::is_cleaned_up_flag;
  return caf::actor_cast<caf::abstract_actor*>(actor)->getf(ended);
}

} // namespace

FrontState::~FrontState() {
  refuse_waiting(caf::make_error(caf::sec::request_receiver_down));
  if (instance)
    self->send_exit(instance, caf::exit_reason::user_shutdown);
}

void FrontState::start() {
  instance = starter(self);
  self->monitor(instance);
  tell_start(policy, instance);
  for (const auto& message : setup)
    instance->enqueue(nullptr, caf::make_message_id(), message, self->context());
  for (auto& message : std::exchange(waiting, {}))
    instance->enqueue(std::move(message.sender), message.id, std::move(message.content),
                      self->context());
}

void FrontState::on_down(const caf::down_msg& down) {
  if (!instance || down.source != instance.address())
    return;
  instance = nullptr;
  if (!is_breakage(down.reason))
    return self->quit(down.reason);
  auto reason = describe_exit(down.reason);
  auto delay = counter.next_delay(policy, self->clock().now());
  tell(false, reason);
  if (delay) {
    self->delayed_send(self, *delay, atom::restart_v);
    return;
  }
  auto error = to_caf({.code = Errc::gave_up,
                       .message = "an actor broke " + std::to_string(counter.total())
                                  + " times and is given up: " + reason,
                       .category = ErrorCategory::server});
  refuse_waiting(error);
  self->quit(error);
}

void FrontState::refuse_waiting(const caf::error& reason) {
  for (auto& message : std::exchange(waiting, {}))
    if (message.sender && message.id.is_request())
      message.sender->enqueue(nullptr, message.id.response_id(), caf::make_message(reason),
                              nullptr);
}

void FrontState::pass_on(caf::message content) {
  auto& element = *self->current_mailbox_element();
  auto id = element.mid;
  element.mid.mark_as_answered(); // by whoever gets it
  if (instance && !has_ended(instance))
    instance->enqueue(element.sender, id, std::move(content), self->context());
  else
    waiting.push_back({element.sender, id, std::move(content)});
}

void FrontState::tell(bool running, std::string reason) const {
  if (watcher)
    self->send(watcher, SupervisionEvent{.who = self->address(),
                                         .running = running,
                                         .breakages = counter.total(),
                                         .reason = std::move(reason),
                                         .name = {}});
}

caf::behavior front(FrontState::SelfPointer self, Starter starter, RestartPolicy policy,
                    SessionActor watcher) {
  end_on_exception(self);
  auto& state = self->state;
  state.starter = std::move(starter);
  state.policy = policy;
  state.watcher = std::move(watcher);
  self->set_down_handler([self](const caf::down_msg& x) { self->state.on_down(x); });
  self->set_default_handler(
      [self](caf::scheduled_actor*, caf::message_view& content) -> caf::result<caf::message> {
        self->state.pass_on(content.move_content_to_message());
        return caf::delegated<caf::message>{};
      });
  state.start();
  return {
      [self](atom::setup, caf::message& message) {
        auto& front_state = self->state;
        if (front_state.instance)
          front_state.instance->enqueue(nullptr, caf::make_message_id(), message, self->context());
        front_state.setup.push_back(std::move(message));
      },
      [self](atom::restart) {
        self->state.start();
        self->state.tell(true, {});
      },
  };
}

} // namespace tinkaf
