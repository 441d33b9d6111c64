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

namespace tinkaf {

/// How results are waited for.
struct PollerSettings {
  PollPolicy policy;
  ResultFormat format = ResultFormat::either;

  /// Told when the service makes an operation wait.
  NoticeSink notices;
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
  void on(const FutureFailed& failed);
  void on(FutureValue value);
  void go_on(Result<std::chrono::milliseconds> pause);
  void fail(Error error);
  [[nodiscard]] PollMoment moment();

  SelfPointer self;
  HttpActor http;
  PollerSettings settings;
  PollPacer pacer{PollPolicy{}};
  PollJob job;
  std::uint32_t polls = 0;
  bool allow_metadata_only = true;
  QueueState queue_state = QueueState::unknown;
  std::chrono::steady_clock::time_point poll_began;

  // A plain promise on purpose: if the poller breaks, its supervisor must not take that for an
  // answer.
  caf::typed_response_promise<FutureValue> answer;

  static inline const char* name = "tinkaf.poller";
};

/// Waits for one result.
/// @param http performs the polls
PollerActor::behavior_type poller(PollerState::SelfPointer self, HttpActor http,
                                  PollerSettings settings);

} // namespace tinkaf
