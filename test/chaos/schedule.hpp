// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "test/chaos/fault_plan.hpp"

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace tinkaf::test {

/// A short `tinkaf train sft`.
struct ChaosJob {
  int steps = 3;
  int batch = 2;
  int seed = 0;

  friend auto operator<=>(const ChaosJob&, const ChaosJob&) = default;
};

enum class Victim : std::uint8_t { client, server };

struct Kill {
  Victim victim = Victim::client;

  /// Requests that have come in before, and time since.
  std::uint64_t request = 0;
  std::chrono::milliseconds delay{0};

  /// How long a killed server stays away.
  std::chrono::milliseconds away{0};
};

/// What may be drawn.
struct ChaosScope {
  bool network = true;
  bool client = true;
  bool server = true;
};

/// A job and all that befalls it: a seed decides.
struct Schedule {
  std::uint64_t seed = 0;
  ChaosJob job;
  FaultPlan faults;

  /// In the order of their requests.
  std::vector<Kill> kills;
};

[[nodiscard]] Schedule draw_schedule(std::uint64_t seed, const ChaosScope& scope);

/// On one line.
[[nodiscard]] std::string to_string(const Schedule& schedule);

} // namespace tinkaf::test
