// SPDX-License-Identifier: Apache-2.0
#include "actors/access_token.hpp"
#include "actors/http_actor.hpp"
#include "api/endpoint.hpp"
#include "api/headers.hpp"

#include <caf/send.hpp>

#include <utility>

// How an HTTP actor comes by what it puts into `X-API-Key`. One exchange, and one run of the
// command, at a time: whoever else needs it meanwhile waits for the same.

namespace tinkaf {

namespace {

constexpr std::chrono::seconds exchange_timeout{10};
constexpr std::chrono::seconds exchange_budget{10};

} // namespace

caf::typed_response_promise<bool> HttpActorState::exchange(bool command_enforced) {
  auto answer = owe<bool>(self);
  credentials.require_exchange(command_enforced);
  exchange_askers.push_back(answer);
  start_exchange();
  return answer.promise();
}

void HttpActorState::start_exchange() {
  if (std::exchange(exchanging, true))
    return;
  auto call
      = HttpCall{"auth/token",
                 make_request(Endpoint::auth_token, "{}", make_idempotency_key(), exchange_timeout),
                 RetryPolicy{.budget = exchange_budget}};
  self->request(HttpActor{self}, caf::infinite, std::move(call))
      .then(
          [this](const HttpResponse& response) { on_exchanged(read_access_token(response.body)); },
          [this](const caf::error& error) { on_exchanged(fail(from_caf(error))); });
}

void HttpActorState::on_exchanged(Result<Secret> token) {
  exchanging = false;
  auto now = settings.wall_clock();
  auto askers = std::exchange(exchange_askers, {});
  auto waiting = std::exchange(await_exchange, {});
  if (token) {
    credentials.set_token(std::move(*token), now);
    exchange_warned = false;
    for (const auto& asker : askers)
      asker.deliver(true);
  } else {
    credentials.exchange_failed(now);
    for (const auto& asker : askers)
      asker.fail(token.error());
    if (!credentials.token().empty() && !std::exchange(exchange_warned, true) && settings.notices)
      settings.notices(
          {Severity::warning, "the access token could not be renewed, calls go on with "
                              "the old one: "
                                  + token.error().message});
  }
  schedule_renewal();
  for (auto id : waiting) {
    if (!credentials.token().empty())
      send(id, credentials.token());
    else if (calls.contains(id))
      fail_call(id, token.error());
  }
}

void HttpActorState::run_command() {
  if (std::exchange(command_running, true))
    return;
  settings.command([actor = HttpActor{self}](Result<Secret> output) {
    caf::anon_send(actor, atom::credential_v, std::make_shared<Result<Secret>>(std::move(output)));
  });
}

void HttpActorState::on_command(Result<Secret> output) {
  command_running = false;
  if (output)
    credentials.set_command_output(*output, settings.wall_clock());
  else
    credentials.command_failed(settings.wall_clock());
  schedule_renewal();
  for (auto id : std::exchange(await_command, {})) {
    if (output)
      send(id, *output);
    else if (calls.contains(id))
      fail_call(id, output.error());
  }
}

void HttpActorState::renew() {
  auto due = credentials.renewal_in(settings.wall_clock());
  if (!due || due->count() > 0)
    return; // renewed meanwhile, and so is the reminder
  if (credentials.exchanges())
    start_exchange();
  else
    run_command();
}

void HttpActorState::schedule_renewal() {
  if (auto delay = credentials.renewal_in(settings.wall_clock()))
    self->delayed_send(self, *delay, atom::renew_v);
}

} // namespace tinkaf
