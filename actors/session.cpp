// SPDX-License-Identifier: Apache-2.0
#include "actors/session.hpp"

#include "actors/exceptions.hpp"
#include "actors/quiet_notices.hpp"
#include "actors/rest_client.hpp"
#include "actors/sampling_keeper.hpp"
#include "api/checkpoint_check.hpp"
#include "api/endpoint.hpp"
#include "api/headers.hpp"
#include "api/version.hpp"
#include "api/wire/json.hpp"

#include <algorithm>
#include <utility>

namespace tinkaf {

namespace {

/// How long the opening of a session is tried: what cannot be reached at start is more often a
/// wrong address than a service that will be back.
constexpr std::chrono::milliseconds opening_budget{10'000};

/// Time of one try at it: an answer that is lost must leave time for others.
constexpr std::chrono::milliseconds opening_try{4'000};

constexpr std::chrono::milliseconds dynamic_config_timeout{10'000};
constexpr std::chrono::milliseconds capabilities_timeout{10'000};
constexpr std::chrono::seconds least_refresh_interval{10};

constexpr auto closed_message = "the session is closed";

/// Null without a command.
CredentialFetch fetch_by(const ClientOptions& options) {
  if (options.credential_command.empty())
    return {};
  auto command
      = std::make_shared<CredentialCommand>(options.credential_command, options.credential_timeout);
  return [command](CredentialCallback callback) { command->run(std::move(callback)); };
}

} // namespace

void SessionState::tell(Severity severity, std::string text) const {
  if (settings.notices)
    settings.notices({severity, std::move(text)});
}

HttpCall SessionState::call(const char* what, Endpoint endpoint, std::string body) const {
  auto retry = settings.options.retry;
  auto timeout = settings.options.request_timeout;
  if (session_id.empty()) {
    retry.budget = std::min(retry.budget, opening_budget);
    timeout = std::min(timeout, opening_try);
  }
  return {what, make_request(endpoint, std::move(body), make_idempotency_key(), timeout), retry};
}

// --- opening -------------------------------------------------------------------------------------

caf::typed_response_promise<std::string> SessionState::open() {
  auto answer = owe<std::string>(self);
  if (auto error = not_ready(); error && (lost || !closers.empty())) {
    answer.fail(std::move(*error));
    return answer.promise();
  }
  if (!session_id.empty()) {
    answer.deliver(session_id);
    return answer.promise();
  }
  openers.push_back(answer);
  if (openers.size() > 1)
    return answer.promise();
  auto body = wire::to_json(wire::ClientConfigRequest{std::string{service_sdk_version}});
  ask_http(
      call("client/config", Endpoint::client_config, body),
      [this](const HttpResponse& response) { on_client_config(response); },
      [this](const caf::error& error) { opened(fail(from_caf(error))); });
  return answer.promise();
}

void SessionState::on_client_config(const HttpResponse& response) {
  auto told = wire::from_json<ClientConfig>(response.body);
  if (!told)
    return opened(fail(std::move(told.error())));
  config = std::move(*told);
  set_up(dispatch_budget, atom::resize_v, config.fwdbwd_dispatch_bytes_semaphore_size);
  set_up(http, atom::max_pause_v, caf::timespan{config.billing_exception_max_pause_duration});
  set_up(response_budget, atom::resize_v, config.inflight_response_bytes_semaphore_size);
  set_up(gate, atom::resize_v, config.sample_dispatch_bytes_semaphore_size);
  if (!config.pjwt_auth_enabled)
    return get_dynamic_config();
  auto enforced = config.credential_default_source == "credential_cmd";
  set_up(http, atom::exchange_v, enforced);
  ask_supervised(
      self, http, [this](bool) { get_dynamic_config(); },
      [this](const caf::error& error) { opened(fail(from_caf(error))); }, atom::exchange_v,
      enforced);
}

void SessionState::get_dynamic_config() {
  auto body = wire::to_json(wire::ClientConfigRequest{std::string{service_sdk_version}});
  auto asked = call("client/dynamic_config", Endpoint::client_dynamic_config, body);
  asked.request.timeout = std::min(asked.request.timeout, dynamic_config_timeout);
  ask_http(
      std::move(asked),
      [this](const HttpResponse& response) {
        auto told = wire::from_json<DynamicConfig>(response.body);
        if (!told)
          return opened(fail(std::move(told.error())));
        dynamic_config = *told;
        create_or_go_on();
      },
      [this](const caf::error& error) {
        auto reason = from_caf(error);
        // Older services do not have it.
        if (reason.http_status == 404)
          return create_or_go_on();
        opened(fail(std::move(reason)));
      });
}

void SessionState::refresh_dynamic_config() {
  if (lost || !closers.empty())
    return;
  auto again = [this] {
    self->delayed_send(self, std::max(dynamic_config.refresh_interval, least_refresh_interval),
                       atom::refresh_v);
  };
  auto body = wire::to_json(wire::ClientConfigRequest{std::string{service_sdk_version}});
  auto request = make_request(Endpoint::client_dynamic_config, std::move(body),
                              make_idempotency_key(), dynamic_config_timeout);
  auto failed = [this, again](const std::string& reason) {
    if (!std::exchange(refresh_failed, true))
      tell(Severity::warning,
           "the configuration could not be refreshed and stays as it was: " + reason);
    again();
  };
  self->request(http, caf::infinite, std::move(request))
      .then(
          [this, again, failed](const HttpResponse& response) {
            if (response.status == 404)
              return again();
            if (response.status < 200 || response.status >= 300)
              return failed("HTTP " + std::to_string(response.status));
            auto told = wire::from_json<DynamicConfig>(response.body);
            if (!told)
              return failed(told.error().message);
            dynamic_config = *told;
            refresh_failed = false;
            again();
          },
          [failed](const caf::error& error) { failed(from_caf(error).message); });
}

void SessionState::create_or_go_on() {
  if (settings.record)
    go_on(*settings.record);
  else
    create_session();
}

void SessionState::go_on(const SessionRecord& from) {
  auto body = wire::to_json(SessionHeartbeatRequest{from.session_id});
  ask_http(
      call("session_heartbeat", Endpoint::session_heartbeat, body),
      [this, from](const HttpResponse&) {
        session_id = from.session_id;
        next_model_seq_id = from.next_model_seq_id;
        next_sampling_session_seq_id = from.next_sampling_session_seq_id;
        on_session();
      },
      [this, from](const caf::error& error) {
        auto reason = from_caf(error);
        if (reason.http_status != 404 && reason.http_status != 410)
          return opened(fail(std::move(reason)));
        session_id = from.session_id;
        on_lost(reason.http_status);
        opened(fail(*lost));
      });
}

void SessionState::create_session() {
  const auto& options = settings.options;
  auto body = wire::to_json(
      CreateSessionRequest{.tags = options.tags.value_or(std::vector<std::string>{}),
                           .user_metadata = options.user_metadata,
                           .sdk_version = std::string{service_sdk_version},
                           .project_id = options.project_id});
  ask_http(
      call("create_session", Endpoint::create_session, body),
      [this](const HttpResponse& answer) { on_create_session(answer); },
      [this](const caf::error& error) { opened(fail(from_caf(error))); });
}

void SessionState::on_create_session(const HttpResponse& response) {
  auto created = wire::from_json<CreateSessionResponse>(response.body);
  if (!created)
    return opened(fail(std::move(created.error())));
  if (created->info_message)
    tell(Severity::info, *created->info_message);
  if (created->warning_message)
    tell(Severity::warning, *created->warning_message);
  if (created->error_message)
    tell(Severity::error, *created->error_message);
  session_id = created->session_id;
  on_session();
}

void SessionState::on_session() {
  last_heartbeat = self->clock().now();
  self->delayed_send(self, settings.options.heartbeat_interval, atom::heartbeat_v);
  self->delayed_send(self, std::max(dynamic_config.refresh_interval, least_refresh_interval),
                     atom::refresh_v);
  start_telemetry();
  opened(session_id);
}

void SessionState::opened(Result<std::string> id) {
  for (auto& opener : std::exchange(openers, {}))
    opener.settle(id);
}

caf::typed_response_promise<ClientMetrics> SessionState::metrics(bool reset) {
  auto answer = owe<ClientMetrics>(self);
  self->request(http, caf::infinite, atom::metrics_v, reset)
      .then(
          [this, answer, reset](const ClientMetrics& of_calls) {
            self->request(pollers, caf::infinite, atom::metrics_v, reset)
                .then(
                    [answer, of_calls](std::uint64_t restarts) {
                      auto all = of_calls;
                      all.poller_restarts = restarts;
                      answer.deliver(std::move(all));
                    },
                    [answer](const caf::error& error) { answer.fail(from_caf(error)); });
          },
          [answer](const caf::error& error) { answer.fail(from_caf(error)); });
  return answer.promise();
}

// --- closing -------------------------------------------------------------------------------------

caf::typed_response_promise<bool> SessionState::close() {
  auto answer = owe<bool>(self);
  closers.push_back(answer);
  if (closers.size() > 1)
    return answer.promise();
  opened(fail(Errc::cancelled, closed_message));
  for (auto& client : clients)
    self->send_exit(client, caf::exit_reason::user_shutdown);
  self->send_exit(pollers, caf::exit_reason::user_shutdown);
  if (!telemetry) {
    end(true);
    return answer.promise();
  }
  self->send(telemetry, TelemetryReport{.kind = TelemetryKind::session_end});
  self->request(telemetry, caf::infinite, atom::drain_v,
                caf::timespan{settings.options.telemetry_drain})
      .then([this](bool all_sent) { end(all_sent); }, [this](const caf::error&) { end(false); });
  return answer.promise();
}

void SessionState::end(bool telemetry_sent) {
  for (auto& closer : closers)
    closer.deliver(telemetry_sent);
  self->quit(caf::exit_reason::user_shutdown);
}

// --- heartbeat -----------------------------------------------------------------------------------

void SessionState::heartbeat() {
  if (lost || !closers.empty())
    return;
  const auto& options = settings.options;
  // The next one does not wait for the answer to this one.
  self->delayed_send(self, options.heartbeat_interval, atom::heartbeat_v);
  auto request = make_request(Endpoint::session_heartbeat,
                              wire::to_json(SessionHeartbeatRequest{session_id}),
                              make_idempotency_key(), options.heartbeat_timeout);
  self->request(http, caf::infinite, std::move(request))
      .then([this](const HttpResponse& response) { on_heartbeat(response.status); },
            [this](const caf::error& error) { on_heartbeat(fail(from_caf(error))); });
}

void SessionState::on_heartbeat(const Result<int>& status) {
  auto now = self->clock().now();
  if (status && *status >= 200 && *status < 300) {
    last_heartbeat = now;
    return;
  }
  if (lost)
    return;
  if (status && (*status == 404 || *status == 410))
    return on_lost(*status);
  if (!closers.empty() || now - last_heartbeat <= settings.options.heartbeat_silence)
    return;
  auto silence = std::chrono::duration_cast<std::chrono::seconds>(now - last_heartbeat);
  tell(Severity::warning,
       "no heartbeat has succeeded for " + std::to_string(silence.count())
           + " s: " + (status ? "HTTP " + std::to_string(*status) : to_string(status.error())));
}

void SessionState::on_lost(int status) {
  lost = Error{.code = Errc::not_found,
               .message = "the service no longer knows session " + session_id
                          + ": connect again and go on from the last checkpoint",
               .http_status = status};
  set_up(http, atom::lost_v, *lost);
  if (telemetry)
    self->send(telemetry, TelemetryReport{.severity = TelemetrySeverity::error,
                                          .name = "session.lost",
                                          .data = {{"status_code", std::int64_t{status}}}});
  tell(Severity::error, lost->message);
}

// --- clients -------------------------------------------------------------------------------------

std::optional<Error> SessionState::not_ready() const {
  if (lost)
    return lost;
  if (!closers.empty())
    return Error{Errc::cancelled, closed_message};
  if (session_id.empty())
    return Error{Errc::invalid_argument, "the session is not open yet"};
  return std::nullopt;
}

ClientContext SessionState::client_context() {
  return {.http = http,
          .pollers = pollers,
          .gate = gate,
          .session = self,
          .session_id = session_id,
          .config = config,
          .context_limits = context_limits.value_or(ContextLimits{}),
          .retry = settings.options.retry,
          .request_timeout = settings.options.request_timeout,
          .wire_format = wire_format,
          .dispatch_budget = dispatch_budget,
          .loss_threads = settings.loss_threads,
          .sampling = settings.options.sampling,
          .notices = quiet};
}

template <class Opened, class Handle>
void SessionState::hand_out(const Owed<Handle>& answer, Handle client, const caf::actor& actor) {
  clients.push_back(actor);
  ask_supervised(
      self, client, [answer, client](const Opened&) { answer.deliver(client); },
      [this, answer, actor](const caf::error& error) {
        self->send_exit(actor, caf::exit_reason::user_shutdown);
        answer.fail(from_caf(error));
      },
      atom::open_v);
}

template <class Opened, class Handle, class Keeper>
void SessionState::hand_out_kept(const Owed<Handle>& answer, const Keeper& keeper,
                                 const std::string& part) {
  auto actor = caf::actor_cast<caf::actor>(keeper);
  supervise(actor, part);
  hand_out<Opened>(answer, Handle{keeper}, actor);
}

caf::result<SessionRecord> SessionState::record() const {
  if (session_id.empty())
    return to_caf(*not_ready());
  return SessionRecord{session_id, next_model_seq_id, next_sampling_session_seq_id};
}

caf::result<TrainingClientActor> SessionState::create_training_client(CreateLoraTrainingClient spec,
                                                                      LedgerActor ledger) {
  if (auto checked = validate(spec.lora_config); !checked)
    return to_caf(std::move(checked.error()));
  if (spec.base_model.empty())
    return to_caf({Errc::invalid_argument, "base_model is empty, but a model is made from one",
                   ErrorCategory::user});
  return start_training_client(CreateModelRequest{session_id, next_model_seq_id++,
                                                  std::move(spec.base_model),
                                                  std::move(spec.user_metadata), spec.lora_config},
                               std::move(ledger));
}

caf::result<TrainingClientActor>
SessionState::create_training_client(CreateTrainingClientFromState spec, LedgerActor ledger) {
  if (auto checked = check_training_path(spec.path, "create_training_client_from_state"); !checked)
    return to_caf(std::move(checked.error()));
  std::optional<std::string> token;
  if (!spec.weights_access_token.empty())
    token = spec.weights_access_token.reveal();
  return start_training_client(LoadWeightsRequest{.session_id = session_id,
                                                  .model_seq_id = next_model_seq_id++,
                                                  .base_model = std::move(spec.base_model),
                                                  .user_metadata = std::move(spec.user_metadata),
                                                  .path = std::move(spec.path),
                                                  .optimizer = spec.with_optimizer,
                                                  .weights_access_token = std::move(token)},
                               std::move(ledger));
}

caf::result<TrainingClientActor> SessionState::attach_training_client(AttachTrainingClient spec,
                                                                      LedgerActor ledger) {
  if (auto checked = validate(spec); !checked)
    return to_caf(std::move(checked.error()));
  // Whoever wrote the record may not have seen the last numbers go.
  for (const auto& turn : spec.open)
    for (const auto& request : turn)
      next_sampling_session_seq_id = std::max(next_sampling_session_seq_id,
                                              request.sampling_session_seq_id.value_or(-1) + 1);
  return start_training_client(std::move(spec), std::move(ledger));
}

caf::typed_response_promise<TrainingClientActor>
SessionState::start_training_client(ModelOrigin origin, LedgerActor ledger) {
  auto answer = owe<TrainingClientActor>(self);
  with_context_limits([this, answer, origin = std::move(origin), ledger = std::move(ledger)] {
    if (auto error = not_ready())
      answer.fail(std::move(*error));
    else
      hand_out_kept<std::string>(answer,
                                 self->spawn(training_client, client_context(), origin, ledger,
                                             settings.options.restarts.clients),
                                 "training client");
  });
  return answer.promise();
}

caf::typed_response_promise<SamplingClientActor>
SessionState::create_sampling_client(CreateSamplingClient spec) {
  auto answer = owe<SamplingClientActor>(self);
  if (auto error = not_ready()) {
    answer.fail(std::move(*error));
    return answer.promise();
  }
  auto number = spec.sampling_session_id ? 0 : next_sampling_session_seq_id++;
  with_context_limits([this, answer, spec = std::move(spec), number] {
    if (auto error = not_ready())
      answer.fail(std::move(*error));
    else
      hand_out_kept<std::string>(answer,
                                 self->spawn(sampling_client, client_context(), spec, number,
                                             settings.options.restarts.clients),
                                 "sampling client");
  });
  return answer.promise();
}

caf::typed_response_promise<RestClientActor> SessionState::create_rest_client() {
  auto answer = owe<RestClientActor>(self);
  auto rest = RestClientSettings{.http = http,
                                 .base_url = settings.options.base_url,
                                 .retry = settings.options.retry,
                                 .request_timeout = settings.options.request_timeout,
                                 .notices = settings.notices,
                                 .downloads = http_client_options(settings.options),
                                 .opened = !session_id.empty()};
  auto actor = start_front(
      [rest](caf::event_based_actor* parent) {
        return caf::actor_cast<caf::actor>(parent->spawn(rest_client, rest));
      },
      "REST client", settings.options.restarts.clients);
  hand_out<Done>(answer, caf::actor_cast<RestClientActor>(actor), actor);
  return answer.promise();
}

caf::typed_response_promise<ServerCapabilities> SessionState::capabilities() {
  auto answer = owe<ServerCapabilities>(self);
  ask_http(
      call("get_server_capabilities", Endpoint::get_server_capabilities, {}),
      [answer](const HttpResponse& response) {
        answer.settle(wire::from_json<ServerCapabilities>(response.body));
      },
      [answer](const caf::error& error) { answer.fail(from_caf(error)); });
  return answer.promise();
}

void SessionState::with_context_limits(std::function<void()> go_on) {
  if (context_limits || not_ready())
    return go_on();
  waiting_for_limits.push_back(std::move(go_on));
  if (waiting_for_limits.size() > 1)
    return;
  auto request = call("get_server_capabilities", Endpoint::get_server_capabilities, {}).request;
  request.timeout = std::min(request.timeout, capabilities_timeout);
  ask_supervised(
      self, http,
      [this](const HttpResponse& response) {
        if (response.status < 200 || response.status >= 300)
          return on_capabilities(
              fail(Errc::protocol_error, "HTTP " + std::to_string(response.status)));
        on_capabilities(wire::from_json<ServerCapabilities>(response.body));
      },
      [this](const caf::error& error) { on_capabilities(fail(from_caf(error))); },
      std::move(request));
}

void SessionState::on_capabilities(const Result<ServerCapabilities>& told) {
  context_limits = told ? ContextLimits{*told} : ContextLimits{};
  if (!told)
    tell(Severity::info, "lengths are not checked before sending, since the service does not tell "
                         "how many tokens its models take: "
                             + told.error().message);
  for (const auto& go_on : std::exchange(waiting_for_limits, {}))
    go_on();
}

// --- behaviour -----------------------------------------------------------------------------------

SessionActor::behavior_type session(SessionState::SelfPointer self, Starter http,
                                    SessionSettings settings) {
  end_on_exception(self);
  auto& state = self->state;
  state.wire_format = settings.options.wire_format;
  if (!settings.loss_threads)
    settings.loss_threads = make_loss_threads();
  state.settings = std::move(settings);
  state.start_services(std::move(http));
  self->set_down_handler([self](const caf::down_msg& x) { self->state.on_down(x); });
  return {
      [self](atom::open) { return self->state.open(); },
      [self](CreateLoraTrainingClient& spec) {
        return self->state.create_training_client(std::move(spec), {});
      },
      [self](CreateTrainingClientFromState& spec) {
        return self->state.create_training_client(std::move(spec), {});
      },
      [self](AttachTrainingClient& spec) {
        return self->state.attach_training_client(std::move(spec), {});
      },
      [self](CreateLoraTrainingClient& spec, LedgerActor& ledger) {
        return self->state.create_training_client(std::move(spec), std::move(ledger));
      },
      [self](CreateTrainingClientFromState& spec, LedgerActor& ledger) {
        return self->state.create_training_client(std::move(spec), std::move(ledger));
      },
      [self](AttachTrainingClient& spec, LedgerActor& ledger) {
        return self->state.attach_training_client(std::move(spec), std::move(ledger));
      },
      [self](CreateSamplingClient& spec) {
        return self->state.create_sampling_client(std::move(spec));
      },
      [self](atom::rest_client) { return self->state.create_rest_client(); },
      [self](atom::capabilities) { return self->state.capabilities(); },
      [self](atom::sampler_number) { return self->state.next_sampling_session_seq_id++; },
      [self](atom::record) { return self->state.record(); },
      [self](atom::poller_supervisor) { return self->state.pollers; },
      [self](atom::json_only) { self->state.wire_format = WireFormat::json; },
      [self](atom::metrics, bool reset) { return self->state.metrics(reset); },
      [self](atom::close) { return self->state.close(); },
      [self](atom::tree) { return self->state.tree(); },
      [self](const SupervisionEvent& event) { self->state.on_event(event); },
      [self](atom::heartbeat) { self->state.heartbeat(); },
      [self](atom::refresh) { self->state.refresh_dynamic_config(); },
  };
}

Result<SessionActor> spawn_session(caf::actor_system& system, ClientOptions options,
                                   NoticeSink notices, std::optional<SessionRecord> record) {
  if (auto checked = validate(options); !checked)
    return fail(std::move(checked.error()));
  auto trace = TraceContext::create(options.trace);
  if (!trace)
    return fail(std::move(trace.error()));
  notices = harmless_notices(std::move(notices));
  auto transport = make_http_transport(options);
  if (!transport)
    return fail(std::move(transport.error()));
  auto http = HttpActorSettings{.credential = std::exchange(options.api_key, {}),
                                .command = fetch_by(options),
                                .default_headers = options.default_headers,
                                .secret_headers = options.secret_headers,
                                .trace = std::move(*trace),
                                .notices = notices};
  options.secret_headers.clear();
  auto start_http = [transport = std::move(*transport),
                     http = std::move(http)](caf::event_based_actor* parent) {
    return caf::actor_cast<caf::actor>(parent->spawn(http_actor, transport, http));
  };
  return SessionActor{system.spawn(session, Starter{std::move(start_http)},
                                   SessionSettings{.options = std::move(options),
                                                   .notices = std::move(notices),
                                                   .record = std::move(record),
                                                   .loss_threads = {}})};
}

} // namespace tinkaf
