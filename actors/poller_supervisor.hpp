// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/owed.hpp"
#include "actors/poller.hpp"
#include "messages/interfaces.hpp"
#include "messages/restart_policy.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace tinkaf {

/// The answers owed to callers, with the pollers that fetch them. Does no parsing and no I/O of its
/// own, so that nothing here can break by itself. Each job has its own count of restarts, so that
/// one whose pollers break for ever costs the others nothing.
struct PollerSupervisorState {
  using SelfPointer = PollerSupervisorActor::stateful_pointer<PollerSupervisorState>;

  struct Entry {
    PollJob job;
    Owed<FutureValue> answer;
    caf::actor_addr caller;
    PollerActor child;
    RestartCounter restarts;
    std::string last_reason;
    QueueState queue_state = QueueState::unknown;
    std::string queue_state_reason;
  };

  explicit PollerSupervisorState(SelfPointer ptr) : self(ptr) {}

  /// Stops all pollers.
  ~PollerSupervisorState();
  PollerSupervisorState(const PollerSupervisorState&) = delete;
  PollerSupervisorState& operator=(const PollerSupervisorState&) = delete;

  caf::typed_response_promise<FutureValue> add(PollJob job);
  void start(std::uint64_t id);
  void on_down(const caf::down_msg& down);
  void restart(std::uint64_t id, const caf::error& reason);

  /// Gives up what `caller` waits for under `call`.
  void cancel(const caf::actor_addr& caller, std::uint64_t call);
  void on_queue_state(const caf::actor_addr& child, const QueueStateChange& change);

  /// Ends a job and its poller; the entry's answer is still to be given.
  Entry take(std::uint64_t id);

  /// Ends a job with an error, and reports that.
  void fail(std::uint64_t id, Error error);

  [[nodiscard]] PollerStatuses statuses() const;
  [[nodiscard]] CallStatus status_of(const caf::actor_addr& caller, std::uint64_t call) const;

  SelfPointer self;
  HttpActor http;
  PollerSettings settings;
  RestartPolicy policy;
  std::map<std::uint64_t, Entry> jobs;
  std::map<caf::actor_addr, std::uint64_t> by_child;
  std::map<caf::actor_addr, std::set<std::uint64_t>> by_caller;
  std::uint64_t last_id = 0;

  /// Gets reports of results that fail; invalid where nobody wants them.
  TelemetryActor telemetry;

  /// Since the last reset.
  std::uint64_t restarts = 0;

  static inline const char* name = "tinkaf.poller-supervisor";
};

PollerSupervisorActor::behavior_type poller_supervisor(PollerSupervisorState::SelfPointer self,
                                                       HttpActor http, PollerSettings settings,
                                                       RestartPolicy policy);

} // namespace tinkaf
