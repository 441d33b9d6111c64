// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/ask_again.hpp"
#include "actors/client_context.hpp"
#include "actors/front.hpp"
#include "actors/http_actor.hpp"
#include "actors/http_transport.hpp"
#include "actors/loss_threads.hpp"
#include "actors/owed.hpp"
#include "actors/training_keeper.hpp"
#include "api/client_options.hpp"
#include "api/endpoint.hpp"
#include "messages/interfaces.hpp"
#include "messages/notice.hpp"

#include <caf/actor_system.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tinkaf {

/// What a session is started with; its options hold no credential any more.
struct SessionSettings {
  ClientOptions options;
  NoticeSink notices;

  /// The session to go on with; a new one is created if absent.
  std::optional<SessionRecord> record;

  /// Where custom losses are computed; real threads if null.
  std::shared_ptr<LossThreads> loss_threads;
};

/// The root of a service's actors: stops them all when it ends.
struct SessionState {
  using SelfPointer = SessionActor::stateful_pointer<SessionState>;

  explicit SessionState(SelfPointer ptr) : self(ptr) {}

  /// Stops all actors of the session.
  ~SessionState();
  SessionState(const SessionState&) = delete;
  SessionState& operator=(const SessionState&) = delete;

  caf::typed_response_promise<std::string> open();
  void on_client_config(const HttpResponse& response);
  void get_dynamic_config();
  void refresh_dynamic_config();
  void create_or_go_on();
  void create_session();

  /// Takes up the session of the settings' record if it still lives.
  void go_on(const SessionRecord& record);
  void on_create_session(const HttpResponse& response);
  void opened(Result<std::string> id);
  void on_session();
  // What the session supervises, in session_parts.cpp.
  void start_services(Starter http_starter);
  void start_telemetry();
  caf::actor start_front(Starter starter, const std::string& part, const RestartPolicy& policy);
  template <class Handle>
  Handle start_service(Starter starter, const std::string& part);

  /// Watches over an actor and shows it in the tree.
  void supervise(const caf::actor& actor, std::string part);
  void on_event(const SupervisionEvent& event);
  void on_down(const caf::down_msg& down);

  /// Takes a part out of the tree; returns its name.
  std::string forget_part(const caf::actor_addr& who);
  caf::typed_response_promise<SupervisionTree> tree();

  /// Sends a message to a service, and to those that are started in its place.
  template <class Handle, class... Args>
  void set_up(const Handle& service, const Args&... args) {
    caf::anon_send(caf::actor_cast<caf::actor>(service), atom::setup_v, caf::make_message(args...));
  }

  /// Makes a call that may be repeated if the HTTP actor breaks over it.
  template <class OnValue, class OnError>
  void ask_http(HttpCall call, OnValue on_value, OnError on_error) {
    ask_supervised(self, http, std::move(on_value), std::move(on_error), std::move(call));
  }

  caf::typed_response_promise<ClientMetrics> metrics(bool reset);
  caf::typed_response_promise<bool> close();
  void end(bool telemetry_sent);

  [[nodiscard]] caf::result<SessionRecord> record() const;

  void heartbeat();

  /// Notes that the service knows the session no more, and tells of it.
  void on_lost(int status);
  void on_heartbeat(const Result<int>& status);

  caf::result<TrainingClientActor> create_training_client(CreateLoraTrainingClient spec,
                                                          LedgerActor ledger);
  caf::result<TrainingClientActor> create_training_client(CreateTrainingClientFromState spec,
                                                          LedgerActor ledger);
  caf::result<TrainingClientActor> attach_training_client(AttachTrainingClient spec,
                                                          LedgerActor ledger);
  caf::typed_response_promise<TrainingClientActor> start_training_client(ModelOrigin origin,
                                                                         LedgerActor ledger);
  caf::typed_response_promise<SamplingClientActor>
  create_sampling_client(CreateSamplingClient spec);
  caf::typed_response_promise<RestClientActor> create_rest_client();
  caf::typed_response_promise<ServerCapabilities> capabilities();

  /// Goes on once it is known how many tokens the models take, or that the service does not tell.
  /// Asks once in a session, for the first client; what waits goes on in its order.
  void with_context_limits(std::function<void()> go_on);
  void on_capabilities(const Result<ServerCapabilities>& told);

  /// Answers with a client once it is open; stops it if that fails.
  /// @tparam Opened what the client answers with when it is open
  template <class Opened = std::string, class Handle>
  void hand_out(const Owed<Handle>& answer, Handle client, const caf::actor& actor);

  /// The same with a client that restarts its own worker.
  template <class Opened, class Handle, class Keeper>
  void hand_out_kept(const Owed<Handle>& answer, const Keeper& keeper, const std::string& part);

  /// Why no client can be made now, if so.
  [[nodiscard]] std::optional<Error> not_ready() const;
  [[nodiscard]] HttpCall call(const char* what, Endpoint endpoint, std::string body) const;
  [[nodiscard]] ClientContext client_context();
  void tell(Severity severity, std::string text) const;

  SelfPointer self;
  SessionSettings settings;
  HttpActor http;
  PollerSupervisorActor pollers;

  /// What training passes on their way may take together.
  ByteBudgetActor dispatch_budget;

  TelemetryActor telemetry;
  SamplingGateActor gate;

  /// What results may take in memory until they are read.
  ByteBudgetActor response_budget;

  /// Passes notices on, each at most once a minute.
  NoticeSink quiet;
  std::vector<caf::actor> clients;

  /// The fronts of http, pollers, gate, budgets and telemetry.
  std::vector<caf::actor> services;

  /// What is supervised, in the order in which it was started.
  std::map<std::uint64_t, SupervisedPart> parts;
  std::map<caf::actor_addr, std::uint64_t> part_ids;
  std::uint64_t last_part = 0;

  ClientConfig config;
  DynamicConfig dynamic_config;
  bool refresh_failed = false;
  WireFormat wire_format = WireFormat::automatic;

  /// How many tokens the models take; absent until the service was asked.
  std::optional<ContextLimits> context_limits;
  std::vector<std::function<void()>> waiting_for_limits;
  std::string session_id;
  std::vector<Owed<std::string>> openers;
  std::vector<Owed<bool>> closers;
  std::optional<Error> lost;
  std::chrono::steady_clock::time_point last_heartbeat;
  std::int64_t next_model_seq_id = 0;
  std::int64_t next_sampling_session_seq_id = 0;

  static inline const char* name = "tinkaf.session";
};

/// @param http starts an HTTP actor, in tests one over a scripted transport
SessionActor::behavior_type session(SessionState::SelfPointer self, Starter http,
                                    SessionSettings settings);

/// Starts the actors of a service: session, HTTP, pollers. Ask the session to open.
///
/// Send it an exit message to end them all, which also lets the actor system end.
/// @param record the session to go on with; a new one is created if absent
/// @returns `Errc::invalid_argument` naming a bad option, `Errc::unauthenticated` for a missing or
///   malformed credential
[[nodiscard]] Result<SessionActor> spawn_session(caf::actor_system& system, ClientOptions options,
                                                 NoticeSink notices = notices_to_stderr(),
                                                 std::optional<SessionRecord> record = {});

} // namespace tinkaf
