// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/headers.hpp"
#include "api/http/http_message.hpp"
#include "api/poll_policy.hpp"
#include "messages/interfaces.hpp"
#include "messages/notice.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace tinkaf {

/// How results are waited for.
struct PollerSettings {
  PollPolicy policy;
  ResultFormat format = ResultFormat::either;

  /// Large results are fetched within it; where it is invalid, without a limit.
  ByteBudgetActor response_budget;

  /// Told when the service makes an operation wait, and when it goes on.
  NoticeSink notices;

  /// Gets every change of a queue state.
  QueueStateSink queue_states;
};

/// The state of one poller, and one function per step of its loop.
struct PollerState {
  using SelfPointer = PollerActor::stateful_pointer<PollerState>;

  explicit PollerState(SelfPointer ptr) : self(ptr) {}

  void poll();
  void on_response(const HttpResponse& response);
  void on_error(Error error);
  void on(FuturePending pending);
  void on(const FutureTooLarge& announced);
  void fetch_whole();
  void on(const FutureFailed& failed);
  void on(FutureValue value);
  void go_on(Result<std::chrono::milliseconds> pause);
  void fail(Error error);
  [[nodiscard]] PollMoment moment();

  /// What the wait for this operation has come to, for people.
  [[nodiscard]] std::string story();

  SelfPointer self;
  HttpActor http;
  PollerSupervisorActor supervisor;
  PollerSettings settings;
  PollPacer pacer{PollPolicy{}};
  PollJob job;
  std::uint32_t polls = 0;

  /// HTTP actors that broke over this poll, one after the other.
  std::uint32_t broken = 0;
  bool allow_metadata_only = true;
  QueueState queue_state = QueueState::unknown;
  std::string queue_state_reason;
  std::chrono::steady_clock::time_point poll_began;

  // A plain promise on purpose: if the poller breaks, its supervisor must not take that for an
  // answer.
  caf::typed_response_promise<FutureValue> answer;

  static inline const char* name = "tinkaf.poller";
};

/// Waits for one result.
/// @param http performs the polls
/// @param supervisor is told of changes of the queue state
PollerActor::behavior_type poller(PollerState::SelfPointer self, HttpActor http,
                                  PollerSettings settings, PollerSupervisorActor supervisor);

} // namespace tinkaf
