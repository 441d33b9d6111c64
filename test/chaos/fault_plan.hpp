// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>
#include <vector>

namespace tinkaf::test {

/// What may go wrong with one request on its way through a `FaultProxy`.
enum class FaultKind : std::uint8_t {
  none,
  /// The connection is reset before the request has gone on.
  refuse,
  /// The request is answered, but the connection is reset instead.
  reset,
  /// The request is answered, but the answer never arrives.
  drop,
  /// Request and answer go on late.
  delay,
  /// The request arrives twice; the second answer is the one that goes back.
  duplicate,
  /// Half of the answer, then the end of the connection.
  truncate,
  /// Bytes that are no HTTP, then the end of the connection.
  garbage,
  /// The answer comes piece by piece.
  slow_body,
  /// This request and some behind it are answered with 502, 503 or 504; every other one has arrived
  /// all the same.
  unavailable,
  /// This request and some behind it are answered with 429 and a short wait.
  too_many,
};

inline constexpr std::array fault_kinds{
    FaultKind::refuse,      FaultKind::reset,    FaultKind::drop,    FaultKind::delay,
    FaultKind::duplicate,   FaultKind::truncate, FaultKind::garbage, FaultKind::slow_body,
    FaultKind::unavailable, FaultKind::too_many,
};

[[nodiscard]] std::string_view to_string(FaultKind kind) noexcept;

/// What is done with one request.
struct Fault {
  FaultKind kind = FaultKind::none;

  /// How long a delay takes, a slow answer in all, or what a 429 asks to wait.
  std::chrono::milliseconds time{0};

  /// Requests behind this one that the same befalls.
  std::uint32_t more = 0;

  friend bool operator==(const Fault&, const Fault&) = default;
};

/// Which requests meet with which fault: decided by a seed and the place of the request among all,
/// by nothing else.
struct FaultPlan {
  std::uint64_t seed = 0;

  /// Share of requests that meet with a fault, in [0, 1].
  double rate = 0.0;

  /// Kinds to choose from; all if empty.
  std::vector<FaultKind> kinds;

  /// The longest `Fault::time`.
  std::chrono::milliseconds longest{40};

  /// Requests from this one on go through untouched.
  std::uint64_t last = UINT64_MAX;

  /// @param request counts from 0
  [[nodiscard]] Fault at(std::uint64_t request) const;
};

} // namespace tinkaf::test
