// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/credentials.hpp"
#include "actors/http_transport.hpp"
#include "actors/owed.hpp"
#include "api/billing_pause.hpp"
#include "api/call_metrics.hpp"
#include "api/http/http_message.hpp"
#include "api/retry_policy.hpp"
#include "api/trace_context.hpp"
#include "messages/interfaces.hpp"
#include "messages/notice.hpp"
#include "messages/secret.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tinkaf {

/// A call that is made until it succeeds or `retry` gives up.
struct HttpCall {
  /// The call's name for messages, for example "optim_step".
  std::string what;

  /// The same for all tries, idempotency key included.
  HttpRequest request;

  RetryPolicy retry;

  /// The service recognises a repeat, by sequence number or idempotency key.
  bool idempotent = true;

  /// A redirect is an answer, as 2xx is; for requests that follow none.
  bool redirect_is_answer = false;

  /// A status that repeating the call cannot cure; 0 for none.
  int final_status = 0;

  /// Credentials in the body, never to be seen in what the service answers.
  std::vector<Secret> secrets;

  /// The asker waits out 429 and 402 by itself: they come back as errors at once, a 402 for which
  /// calls still wait with `should_retry` set.
  bool asker_waits = false;
};

/// What an HTTP actor adds to every call.
struct HttpActorSettings {
  /// Sent to the service and to nobody else; never part of a message.
  Secret credential;

  /// Runs the credential command; null if there is none.
  CredentialFetch command;

  HttpHeaders default_headers;
  HttpHeaders secret_headers;
  std::optional<TraceContext> trace;
  NoticeSink notices;

  /// The clock that tokens tell their end by.
  std::function<std::chrono::system_clock::time_point()> wall_clock
      = std::chrono::system_clock::now;
};

/// Calls under way, and the one place that decides whether a try is repeated.
struct HttpActorState {
  using SelfPointer = HttpActor::stateful_pointer<HttpActorState>;
  using TimePoint = std::chrono::steady_clock::time_point;

  struct Pending {
    HttpCall call;

    /// One try only; the asker judges its status.
    bool once = false;

    Owed<HttpResponse> answer;
    caf::actor_addr asker;
    std::uint32_t attempts = 0;
    TimePoint arrived;

    /// What it is counted under.
    std::string endpoint;

    /// Until its first try went out; what the transport adds comes with the first answer.
    std::optional<std::chrono::microseconds> queue_time;

    /// Where the retry budget begins: behind the last pause that was not the call's fault.
    TimePoint began;

    /// A try may have been accepted, whatever became of later ones.
    bool ambiguous = false;

    /// What the transport calls the try under way.
    std::uint64_t transfer = 0;
  };

  explicit HttpActorState(SelfPointer ptr) : self(ptr) {}

  /// Gives up the exchanges under way.
  ~HttpActorState();
  HttpActorState(const HttpActorState&) = delete;
  HttpActorState& operator=(const HttpActorState&) = delete;

  caf::typed_response_promise<HttpResponse> start(HttpCall call, bool once);
  void try_now(std::uint64_t id);
  void send(std::uint64_t id, const Secret& credential);
  void on_done(std::uint64_t id, Result<HttpResponse> outcome);
  bool pause_for_billing(std::uint64_t id, Pending& pending, const HttpResponse& response);
  void retry_or_fail(std::uint64_t id, Pending& pending, Error error);
  void on_down(const caf::actor_addr& asker);

  void on_lost(Error reason);

  /// Blots out all credentials, should the service have echoed one.
  void scrub(std::string& text) const;
  void scrub(HttpResponse& response, const HttpRequest& request) const;

  // Credentials, in http_credentials.cpp.
  caf::typed_response_promise<bool> exchange(bool command_enforced);
  void start_exchange();
  void on_exchanged(Result<Secret> token);
  void run_command();
  void on_command(Result<Secret> output);
  void renew();
  void schedule_renewal();

  /// Answers with a success.
  void deliver(std::uint64_t id, HttpResponse response);

  /// Counts a call that has ended.
  void count(const Pending& pending, Errc outcome);

  [[nodiscard]] ClientMetrics take_metrics(bool reset);

  /// Tells the telemetry of a call that fails for good.
  void report(const Pending& pending, const Error& error);

  /// Ends a call with an error, in which no credential is left, and which gets the call's
  /// idempotency key for a name if the service has given it none.
  void fail_call(std::uint64_t id, Error error);

  /// Forgets a call; its answer is given by the caller of this function.
  Pending take(std::uint64_t id);

  SelfPointer self;
  std::shared_ptr<HttpTransport> transport;
  HttpActorSettings settings;
  BillingPause billing;

  Credentials credentials;

  /// Those of single calls: of headers and bodies.
  std::set<std::string> call_secrets;
  bool exchanging = false;
  bool exchange_warned = false;
  bool command_running = false;

  /// Who asked for an exchange, and the calls that wait for one or for the command.
  std::vector<Owed<bool>> exchange_askers;
  std::vector<std::uint64_t> await_exchange;
  std::vector<std::uint64_t> await_command;

  CallMetrics metrics;

  /// Told of failed calls; may be invalid.
  TelemetryActor telemetry;

  /// Why calls that need a session fail.
  std::optional<Error> lost;

  std::map<std::uint64_t, Pending> calls;
  std::map<caf::actor_addr, std::set<std::uint64_t>> by_asker;
  std::uint64_t last_id = 0;

  static inline const char* name = "tinkaf.http";
};

/// Carries calls over `transport`, which it owns.
HttpActor::behavior_type http_actor(HttpActorState::SelfPointer self,
                                    std::shared_ptr<HttpTransport> transport,
                                    HttpActorSettings settings);

} // namespace tinkaf
