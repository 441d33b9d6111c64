// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

namespace tinkaf {

/// Times of one kind, from a histogram: percentiles are off by at most 4 %.
struct LatencySummary {
  std::uint64_t count = 0;
  std::chrono::microseconds mean{0};
  std::chrono::microseconds p50{0};
  std::chrono::microseconds p95{0};
  std::chrono::microseconds p99{0};
  std::chrono::microseconds max{0};

  friend bool operator==(const LatencySummary&, const LatencySummary&) = default;
};

/// The calls of one endpoint.
struct EndpointMetrics {
  /// Calls that have ended, by outcome: "ok", or the name of an `Errc`. A call that is made several
  /// times counts once.
  std::map<std::string, std::uint64_t> outcomes;

  /// Tries beyond the first ones.
  std::uint64_t retries = 0;

  /// From the arrival of the message to its answer, all tries included.
  LatencySummary latency;

  /// From the arrival of the message until the first try is about to be sent: waiting for a
  /// credential and for a free connection, and opening one.
  LatencySummary queue_time;

  /// Bodies of all tries, before and after compression by HTTP respectively; headers do not count.
  std::uint64_t bytes_out = 0;
  std::uint64_t bytes_in = 0;

  friend bool operator==(const EndpointMetrics&, const EndpointMetrics&) = default;
};

/// What a session's calls have come to since it began, or since the last reset.
struct ClientMetrics {
  std::chrono::milliseconds period{0};

  /// By a name such as "optim_step". An operation is called twice over: its submission under its
  /// own name, which the service answers at once, and the polls for its result, those of all
  /// operations together, under "retrieve_future".
  std::map<std::string, EndpointMetrics> endpoints;

  /// Polls that have come back.
  std::uint64_t polls = 0;

  /// Those among them that said that the service makes an operation wait, and their time.
  std::uint64_t paused_polls = 0;
  std::chrono::milliseconds paused{0};

  /// How often pollers that broke were started again, by their supervisor of the moment.
  std::uint64_t poller_restarts = 0;

  /// Calls under way now.
  std::uint64_t in_flight = 0;

  friend bool operator==(const ClientMetrics&, const ClientMetrics&) = default;
};

} // namespace tinkaf
