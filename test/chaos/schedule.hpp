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

/// What works.
enum class Work : std::uint8_t {
  /// `tinkaf train sft`
  sft,
  /// A loop of one's own over the library, see `loop_job.hpp`, with losses of its own, with samples
  /// in between, or with both.
  custom_loss,
  samples,
  custom_loss_and_samples,
  /// `tinkaf train dpo`, `rl` and `distill`, which sample between their steps.
  dpo,
  rl,
  distill,
};

inline constexpr std::array works{
    Work::sft, Work::custom_loss, Work::samples, Work::custom_loss_and_samples,
    Work::dpo, Work::rl,          Work::distill};

/// Whether it is a loop of one's own, and no command.
[[nodiscard]] bool is_loop(Work work) noexcept;

[[nodiscard]] std::string_view to_string(Work work) noexcept;

/// A short training job.
struct ChaosJob {
  Work work = Work::sft;
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
  /// ^C and a second one, which ends it at once.
  halt,
  /// kill -9 for the server.
  server,
  /// The same, and all that it knows is gone but the checkpoints.
  forget,
};

inline constexpr std::array blows{Blow::client, Blow::interrupt, Blow::halt, Blow::server,
                                  Blow::forget};

[[nodiscard]] std::string_view to_string(Blow blow) noexcept;

struct Kill {
  Blow blow = Blow::client;

  /// Requests that have come in before, and time since.
  std::uint64_t request = 0;
  std::chrono::milliseconds delay{0};

  /// How long a killed server stays away, or how long after the first ^C the second comes.
  std::chrono::milliseconds away{0};
};

/// What the server itself does wrong: faults of `tinkaf serve --test-mode`, until it is killed.
struct ServerTrouble {
  /// Numbers of operations and of answers, from 1.
  std::set<std::uint64_t> failed_operations;
  std::set<std::uint64_t> dropped_replies;
  std::set<std::uint64_t> delayed_replies;
  std::chrono::milliseconds reply_delay{0};
  std::chrono::milliseconds model_wait{0};

  /// From this write on the disk is full, for so many writes; 0 for never.
  std::uint64_t disk_full_from = 0;
  std::uint64_t disk_full_writes = 0;

  friend bool operator==(const ServerTrouble&, const ServerTrouble&) = default;

  [[nodiscard]] bool any() const {
    return *this != ServerTrouble{};
  }

  /// The options for `tinkaf serve`; empty if there is no trouble.
  [[nodiscard]] std::vector<std::string> options() const;
};

/// What may be drawn.
struct ChaosScope {
  bool network = true;
  bool actors = true;
  bool test_mode = true;
  std::set<Blow> blows{tinkaf::test::blows.begin(), tinkaf::test::blows.end()};
};

/// A job and all that befalls it: a seed decides.
struct Schedule {
  std::uint64_t seed = 0;
  ChaosJob job;
  FaultPlan faults;
  ServerTrouble server;

  /// Whether actors of the client are broken.
  bool breaks = false;

  /// In the order of their requests.
  std::vector<Kill> kills;
};

[[nodiscard]] Schedule draw_schedule(std::uint64_t seed, const ChaosScope& scope);

/// On one line.
[[nodiscard]] std::string to_string(const Schedule& schedule);

} // namespace tinkaf::test
