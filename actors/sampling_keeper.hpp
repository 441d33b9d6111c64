// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/client_context.hpp"
#include "actors/open_calls.hpp"
#include "actors/sampling_client.hpp"
#include "messages/interfaces.hpp"
#include "messages/restart_policy.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace tinkaf {

/// A sampling client as its users see it, and as its worker does.
using SamplingKeeperActor = SamplingClientActor::extend_with<SamplingNotesActor>;

/// What a sampling client owes: the promises of those who asked, and what they asked for. A worker
/// does the work. One that breaks is started again in the same sampling session: samples whose
/// results have a name are waited for, all others are drawn again under new numbers.
struct SamplingKeeperState {
  using SelfPointer = SamplingKeeperActor::stateful_pointer<SamplingKeeperState>;

  struct Question {
    bool is_sample = false;

    /// Asks the worker; returns the id of the request.
    std::function<std::uint64_t(std::uint64_t)> ask;

    /// Fails the promise.
    std::function<void(Error)> fail;

    /// The name of a sample's result, once known.
    std::optional<FutureRef> future;

    /// The id of the request by which the worker was asked.
    std::uint64_t request = 0;
  };

  explicit SamplingKeeperState(SelfPointer ptr) : self(ptr), calls(ptr, true) {}

  /// Stops the worker.
  ~SamplingKeeperState();
  SamplingKeeperState(const SamplingKeeperState&) = delete;
  SamplingKeeperState& operator=(const SamplingKeeperState&) = delete;

  template <class T, class... Args>
  caf::typed_response_promise<T> keep(bool is_sample, Args... args);
  void ask(std::uint64_t id);
  void give_up(std::uint64_t id);
  void forget(std::uint64_t id);

  /// How far a call is.
  caf::typed_response_promise<CallStatus> status(std::uint64_t call);

  void start();
  void on_down(const caf::down_msg& down);
  void end(const Error& reason);
  void tell(bool running, std::string reason, std::string new_name = {}) const;
  void on_accepted(std::uint64_t request, FutureRef future);

  SelfPointer self;
  ClientContext context;
  CreateSamplingClient spec;
  std::int64_t number = 0;
  RestartPolicy policy;
  RestartCounter counter;

  /// Invalid between a breakage and the restart.
  SamplingClientActor worker;
  std::int64_t next_seq_id = 0;

  /// In the order in which they were asked.
  std::map<std::uint64_t, Question> questions;
  std::map<std::uint64_t, std::uint64_t> by_request;
  OpenCalls<SamplingKeeperActor::stateful_base<SamplingKeeperState>> calls;

  static inline const char* name = "tinkaf.sampling-client";
};

/// A sampling client.
/// @param number of the sampling session within its session
SamplingKeeperActor::behavior_type sampling_client(SamplingKeeperState::SelfPointer self,
                                                   ClientContext context, CreateSamplingClient spec,
                                                   std::int64_t number, RestartPolicy policy);

} // namespace tinkaf
