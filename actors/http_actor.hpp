// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/http_transport.hpp"
#include "actors/owed.hpp"
#include "api/billing_pause.hpp"
#include "api/http/http_message.hpp"
#include "api/retry_policy.hpp"
#include "api/secret.hpp"
#include "messages/interfaces.hpp"
#include "messages/notice.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

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
};

/// What an HTTP actor adds to every call.
struct HttpActorSettings {
  /// Sent to the service and to nobody else; never part of a message.
  Secret credential;

  HttpHeaders default_headers;
  HttpHeaders secret_headers;
  NoticeSink notices;
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
    TimePoint began;

    /// A try may have been accepted, whatever became of later ones.
    bool ambiguous = false;

    /// What the transport calls the try under way.
    std::uint64_t transfer = 0;
  };

  explicit HttpActorState(SelfPointer ptr) : self(ptr) {}

  caf::typed_response_promise<HttpResponse> start(HttpCall call, bool once);
  caf::typed_response_promise<bool> exchange();
  void renew(const std::optional<Owed<bool>>& answer);
  void try_now(std::uint64_t id);
  void on_done(std::uint64_t id, Result<HttpResponse> outcome);
  bool pause_for_billing(std::uint64_t id, Pending& pending);
  void retry_or_fail(std::uint64_t id, Pending& pending, Error error);
  void on_down(const caf::actor_addr& asker);

  /// Forgets a call; its answer is given by the caller of this function.
  Pending take(std::uint64_t id);

  SelfPointer self;
  std::shared_ptr<HttpTransport> transport;
  HttpActorSettings settings;
  BillingPause billing;

  /// Sent in place of the credential once it has been exchanged.
  Secret access_token;

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
