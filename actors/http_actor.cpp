// SPDX-License-Identifier: Apache-2.0
#include "actors/http_actor.hpp"

#include "actors/exceptions.hpp"
#include "actors/token_claims.hpp"
#include "api/endpoint.hpp"
#include "api/headers.hpp"
#include "api/random.hpp"
#include "api/telemetry.hpp"
#include "api/wire/error_body.hpp"

#include <caf/send.hpp>

#include <utility>

namespace tinkaf {

namespace {

using Millis = std::chrono::milliseconds;

bool is_answer(const HttpCall& call, int status) {
  return status >= 200 && status < (call.redirect_is_answer ? 400 : 300);
}

} // namespace

HttpActorState::~HttpActorState() {
  for (const auto& [id, pending] : calls)
    if (pending.transfer != 0)
      transport->abort(pending.transfer);
}

caf::typed_response_promise<HttpResponse> HttpActorState::start(HttpCall call, bool once) {
  auto id = ++last_id;
  auto sender = self->current_sender(); // the promise takes it away
  auto asker = caf::actor_cast<caf::actor_addr>(sender);
  auto answer = owe<HttpResponse>(self);
  if (lost && needs_session(call.request.path)) {
    answer.fail(*lost);
    return answer.promise();
  }
  if (asker) {
    auto& ids = by_asker[asker];
    if (ids.empty())
      self->monitor(sender);
    ids.insert(id);
  }
  for (const auto& secret : call.secrets)
    call_secrets.insert(secret.reveal());
  for (const auto& [header, value] : call.request.secret_headers)
    call_secrets.insert(value);
  auto now = self->clock().now();
  auto endpoint = endpoint_name(call.request.path);
  calls.emplace(id, Pending{.call = std::move(call),
                            .once = once,
                            .answer = answer,
                            .asker = asker,
                            .arrived = now,
                            .endpoint = std::move(endpoint),
                            .began = now});
  try_now(id);
  return answer.promise();
}

void HttpActorState::try_now(std::uint64_t id) {
  auto found = calls.find(id);
  if (found == calls.end())
    return;
  const auto& request = found->second.call.request;
  auto use = request.path == path(Endpoint::auth_token)      ? Credentials::Use::exchange
             : request.path == path(Endpoint::client_config) ? Credentials::Use::config
                                                             : Credentials::Use::session;
  auto choice = credentials.choose(use, settings.wall_clock());
  // What keeps the session alive goes out with an old token rather than late.
  auto at_once = is_upkeep(request.path) && !choice.secret.empty();
  switch (choice.source) {
  case Credentials::Source::ready:
    return send(id, choice.secret);
  case Credentials::Source::none:
    if (use == Credentials::Use::exchange && !settings.credential.empty())
      return fail_call(id, {Errc::unauthenticated, "the service wants a credential that a command "
                                                   "prints: set TINKER_CREDENTIAL_CMD"});
    return send(id, {});
  case Credentials::Source::command:
    if (!at_once)
      await_command.push_back(id);
    run_command();
    break;
  case Credentials::Source::exchange:
    if (!at_once)
      await_exchange.push_back(id);
    start_exchange();
    break;
  }
  if (at_once)
    send(id, choice.secret);
}

void HttpActorState::send(std::uint64_t id, const Secret& credential) {
  auto found = calls.find(id);
  if (found == calls.end())
    return; // given up while it waited for a credential
  auto& pending = found->second;
  metrics.on_try(pending.endpoint,
                 pending.call.request.body ? pending.call.request.body->size() : 0,
                 pending.attempts == 0);
  if (!pending.queue_time)
    pending.queue_time = std::chrono::duration_cast<std::chrono::microseconds>(self->clock().now()
                                                                               - pending.arrived);
  ++pending.attempts;
  auto request = pending.call.request;
  merge_headers(request.headers, settings.default_headers);
  if (settings.trace && !has_header(settings.secret_headers, "traceparent"))
    settings.trace->add_to(request.headers);
  auto own = std::move(request.secret_headers);
  request.secret_headers = credential_headers(credential);
  merge_headers(request.secret_headers, settings.secret_headers);
  merge_headers(request.secret_headers, own); // a call under another credential carries that one
  if (request.path == path(Endpoint::telemetry) && request.body) {
    auto body = *request.body;
    scrub(body);
    request.body = std::make_shared<const std::string>(std::move(body));
  }
  pending.transfer = transport->submit(
      std::move(request), [actor = HttpActor{self}, id](Result<HttpResponse> outcome) {
        caf::anon_send(actor, atom::http_done_v, id,
                       std::make_shared<Result<HttpResponse>>(std::move(outcome)));
      });
}

void HttpActorState::on_done(std::uint64_t id, Result<HttpResponse> outcome) {
  auto found = calls.find(id);
  if (found == calls.end())
    return; // given up meanwhile
  auto& pending = found->second;
  if (!outcome) {
    auto error = std::move(outcome.error());
    error.attempts = pending.attempts;
    if (pending.once)
      fail_call(id, std::move(error));
    else
      retry_or_fail(id, pending, std::move(error));
    return;
  }
  metrics.on_answer(pending.endpoint, *outcome);
  scrub(*outcome, pending.call.request);
  if (pending.attempts == 1 && pending.queue_time)
    *pending.queue_time += outcome->queued;
  if (outcome->status == 402 && pause_for_billing(id, pending, *outcome))
    return;
  if (pending.once || is_answer(pending.call, outcome->status)) {
    deliver(id, std::move(*outcome));
    return;
  }
  auto error = wire::read_error(pending.call.what, *outcome);
  error.attempts = pending.attempts;
  if (error.http_status != 0 && error.http_status == pending.call.final_status)
    error.should_retry = false;
  if (pending.call.asker_waits && (outcome->status == 429 || outcome->status == 402))
    fail_call(id, std::move(error));
  else
    retry_or_fail(id, pending, std::move(error));
}

bool HttpActorState::pause_for_billing(std::uint64_t id, Pending& pending,
                                       const HttpResponse& response) {
  auto now = self->clock().now();
  auto decision = billing.on_payment_required(now);
  if (decision.warn && settings.notices)
    settings.notices({Severity::warning, "the account has no credit (HTTP 402); calls go on once "
                                         "it is topped up"});
  if (!decision.delay)
    return false;
  if (pending.call.asker_waits) {
    auto error = wire::read_error(pending.call.what, response);
    error.should_retry = true;
    error.attempts = pending.attempts;
    fail_call(id, std::move(error));
    return true;
  }
  // The pause is not the call's fault: its retry budget starts afresh behind it.
  pending.began = now + *decision.delay;
  self->delayed_send(self, *decision.delay, atom::http_retry_v, id);
  return true;
}

void HttpActorState::retry_or_fail(std::uint64_t id, Pending& pending, Error error) {
  auto elapsed = std::chrono::duration_cast<Millis>(self->clock().now() - pending.began);
  pending.ambiguous = pending.ambiguous || error.ambiguous || error.http_status >= 500;
  auto delay = pending.call.retry.next_delay(
      error, {pending.attempts, elapsed, random_draw(), pending.call.idempotent});
  if (delay) {
    self->delayed_send(self, *delay, atom::http_retry_v, id);
    return;
  }
  error.ambiguous = pending.ambiguous;
  fail_call(id, std::move(error));
}

void HttpActorState::deliver(std::uint64_t id, HttpResponse response) {
  auto pending = take(id);
  // 408 is how a poll says that there is nothing yet.
  auto good
      = is_answer(pending.call, response.status)
        || (response.status == 408 && pending.call.request.path == path(Endpoint::retrieve_future));
  count(pending, good ? Errc::none : errc_from_http_status(response.status));
  pending.answer.deliver(std::move(response));
}

void HttpActorState::count(const Pending& pending, Errc outcome) {
  auto latency = std::chrono::duration_cast<std::chrono::microseconds>(self->clock().now()
                                                                       - pending.arrived);
  metrics.on_end(pending.endpoint, outcome, latency, pending.queue_time.value_or(latency));
}

ClientMetrics HttpActorState::take_metrics(bool reset) {
  auto result = metrics.summary(self->clock().now());
  result.in_flight = calls.size();
  if (reset)
    metrics = CallMetrics{self->clock().now()};
  return result;
}

void HttpActorState::fail_call(std::uint64_t id, Error error) {
  scrub(error.message);
  scrub(error.request_id);
  auto pending = take(id);
  count(pending, error.code);
  for (const auto& [header, value] : pending.call.request.headers)
    if (error.request_id.empty() && header == "X-Idempotency-Key")
      error.request_id = "idempotency key " + value;
  report(pending, error);
  pending.answer.fail(std::move(error));
}

void HttpActorState::scrub(std::string& text) const {
  credentials.scrub(text);
  for (const auto& [header, value] : settings.secret_headers)
    blot_out(text, value);
  for (const auto& secret : call_secrets)
    blot_out(text, secret);
}

void HttpActorState::scrub(HttpResponse& response, const HttpRequest& request) const {
  const auto* type = response.header("content-type");
  auto binary = type != nullptr && type->find("protobuf") != std::string::npos;
  if (!binary && request.path != path(Endpoint::auth_token)) // its answer is a credential
    scrub(response.body);
}

void HttpActorState::report(const Pending& pending, const Error& error) {
  const auto& request_path = pending.call.request.path;
  if (!telemetry || pending.once || error.code == Errc::cancelled || is_upkeep(request_path))
    return;
  auto elapsed = std::chrono::duration_cast<Millis>(self->clock().now() - pending.arrived);
  self->send(telemetry, failed_call_report(request_path, error, elapsed));
}

void HttpActorState::on_lost(Error reason) {
  lost = std::move(reason);
  std::vector<std::uint64_t> ended;
  for (const auto& [id, pending] : calls)
    if (needs_session(pending.call.request.path))
      ended.push_back(id);
  for (auto id : ended) {
    transport->abort(calls.at(id).transfer);
    fail_call(id, *lost);
  }
}

HttpActorState::Pending HttpActorState::take(std::uint64_t id) {
  auto node = calls.extract(id);
  auto& pending = node.mapped();
  if (auto asker = by_asker.find(pending.asker); asker != by_asker.end()) {
    asker->second.erase(id);
    if (asker->second.empty()) {
      self->demonitor(asker->first);
      by_asker.erase(asker);
    }
  }
  return std::move(pending);
}

void HttpActorState::on_down(const caf::actor_addr& asker) {
  auto node = by_asker.extract(asker);
  if (node.empty())
    return;
  for (auto id : node.mapped())
    if (auto call = calls.extract(id); !call.empty()) {
      transport->abort(call.mapped().transfer);
      count(call.mapped(), Errc::cancelled);
    }
}

HttpActor::behavior_type http_actor(HttpActorState::SelfPointer self,
                                    std::shared_ptr<HttpTransport> transport,
                                    HttpActorSettings settings) {
  end_on_exception(self);
  self->state.transport = std::move(transport);
  self->state.metrics = CallMetrics{self->clock().now()};
  self->state.credentials = Credentials{settings.credential, static_cast<bool>(settings.command)};
  self->state.settings = std::move(settings);
  self->set_down_handler([self](const caf::down_msg& x) { self->state.on_down(x.source); });
  return {
      [self](HttpCall& call) { return self->state.start(std::move(call), false); },
      [self](HttpRequest& request) {
        auto call = HttpCall{.what = request.path, .request = std::move(request), .retry = {}};
        return self->state.start(std::move(call), true);
      },
      [self](atom::exchange, bool enforced) { return self->state.exchange(enforced); },
      [self](atom::renew) { self->state.renew(); },
      [self](atom::credential, CredentialOutcome& outcome) {
        self->state.on_command(std::move(*outcome));
      },
      [self](atom::lost, Error& reason) { self->state.on_lost(std::move(reason)); },
      [self](atom::report_to, const TelemetryActor& telemetry) {
        self->state.telemetry = telemetry;
      },
      [self](atom::metrics, bool reset) { return self->state.take_metrics(reset); },
      [self](atom::max_pause, caf::timespan pause) {
        self->state.billing = BillingPause{std::chrono::duration_cast<Millis>(pause)};
      },
      [self](atom::whoami) -> caf::result<WhoamiResponse> {
        const auto& token = self->state.credentials.token();
        auto claims
            = read_claims(token.empty() ? self->state.settings.credential : token, !token.empty());
        if (!claims)
          return to_caf(std::move(claims.error()));
        return std::move(*claims);
      },
      [self](atom::http_done, std::uint64_t id, HttpOutcome& outcome) {
        self->state.on_done(id, std::move(*outcome));
      },
      [self](atom::http_retry, std::uint64_t id) { self->state.try_now(id); },
  };
}

} // namespace tinkaf
