// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/loss_threads.hpp"
#include "api/client_options.hpp"
#include "api/context_limits.hpp"
#include "api/retry_policy.hpp"
#include "api/sampling_policy.hpp"
#include "messages/interfaces.hpp"
#include "messages/notice.hpp"

#include <chrono>
#include <memory>
#include <string>

namespace tinkaf {

/// What the clients of a session have in common.
struct ClientContext {
  HttpActor http;
  PollerSupervisorActor pollers;
  SamplingGateActor gate;
  SessionActor session;
  std::string session_id;

  /// What the service told at start-up.
  ClientConfig config;

  /// How many tokens its models take.
  ContextLimits context_limits;

  RetryPolicy retry;
  std::chrono::milliseconds request_timeout{60'000};
  WireFormat wire_format = WireFormat::automatic;

  /// What training passes on their way may take together.
  ByteBudgetActor dispatch_budget;

  std::shared_ptr<LossThreads> loss_threads;
  SamplingPolicy sampling;

  /// Told what the user should know although no call failed.
  NoticeSink notices;
};

} // namespace tinkaf
