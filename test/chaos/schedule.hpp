// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "test/chaos/fault_plan.hpp"

#include <array>
#include <chrono>
#include <compare>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tinkaf::test {

/// A short `tinkaf train sft`.
struct ChaosJob {
  int steps = 3;
  int batch = 2;
  int seed = 0;

  /// Steps between checkpoints; 0 for none but the last.
  int save_every = 0;

  friend auto operator<=>(const ChaosJob&, const ChaosJob&) = default;
};

/// Who is struck, and how.
enum class Blow : std::uint8_t {
  /// kill -9 for the client.
  client,
  /// ^C for the client, which may finish and save.
  interrupt,
  /// kill -9 for the server.
  server,
  /// The same, and all that it knows is gone but the checkpoints.
  forget,
};

inline constexpr std::array blows{Blow::client, Blow::interrupt, Blow::server, Blow::forget};

[[nodiscard]] std::string_view to_string(Blow blow) noexcept;

struct Kill {
  Blow blow = Blow::client;

  /// Requests that have come in before, and time since.
  std::uint64_t request = 0;
  std::chrono::milliseconds delay{0};

  /// How long a killed server stays away.
  std::chrono::milliseconds away{0};
};

/// What may be drawn.
struct ChaosScope {
  bool network = true;
  bool actors = true;
  std::set<Blow> blows{tinkaf::test::blows.begin(), tinkaf::test::blows.end()};
};

/// A job and all that befalls it: a seed decides.
struct Schedule {
  std::uint64_t seed = 0;
  ChaosJob job;
  FaultPlan faults;

  /// Whether actors of the client are broken.
  bool breaks = false;

  /// In the order of their requests.
  std::vector<Kill> kills;
};

[[nodiscard]] Schedule draw_schedule(std::uint64_t seed, const ChaosScope& scope);

/// On one line.
[[nodiscard]] std::string to_string(const Schedule& schedule);

} // namespace tinkaf::test
