// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "test/chaos/evidence.hpp"
#include "test/chaos/schedule.hpp"
#include "test/chaos/served.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace tinkaf::test {

/// What came of a trial. `lost`: it did not end, or not with the same results. `doubled`: the
/// server took an operation twice, or told of it in two ways. `leaked`: the server kept
/// descriptors.
enum class Verdict : std::uint8_t { good, lost, doubled, hung, leaked };

[[nodiscard]] std::string_view to_string(Verdict verdict) noexcept;

struct TrialResult {
  Verdict verdict = Verdict::good;
  std::string reason;
  std::map<FaultKind, std::uint64_t> faults;
  std::map<Blow, std::size_t> blows;

  /// Actors that were broken, by kind.
  std::map<std::string, std::size_t> breaks;
  std::size_t operations = 0;

  /// Operations that failed as the server was asked to let them.
  std::size_t failures = 0;

  /// Memory that the server has taken since it was started, in KiB.
  std::size_t server_growth = 0;
  std::chrono::milliseconds time{0};
};

/// Runs jobs in a folder of its own against a server of its own. Not thread-safe.
class Trials {
public:
  /// @param programs folder of `tinkaf_chaos_loop`
  /// @param folder made, and left with what failed trials leave
  Trials(std::filesystem::path program, std::filesystem::path programs,
         std::filesystem::path folder);

  /// Runs the job of a schedule, kills what it says when it says it and starts it again, and
  /// compares what is left with an untroubled run of the same job.
  [[nodiscard]] TrialResult run(const Schedule& schedule);

  /// Stops the server.
  /// @returns what was wrong with how it ended; empty if nothing was
  [[nodiscard]] std::string end();

  [[nodiscard]] const Served& server() const noexcept {
    return server_;
  }

private:
  [[nodiscard]] ChildStart command(const ChaosJob& job, const std::string& url,
                                   const std::filesystem::path& run) const;
  [[nodiscard]] const RunRecord& reference(const ChaosJob& job);

  /// @returns what was wrong with how the client ended; empty if nothing was
  [[nodiscard]] std::string strike(const Kill& kill, std::unique_ptr<Child>& client,
                                   const ChildStart& start, FaultProxy& proxy);
  [[nodiscard]] TrialResult trouble(const Schedule& schedule, FaultProxy& proxy,
                                    const std::filesystem::path& run);

  std::filesystem::path program_;
  std::filesystem::path loop_program_;
  std::filesystem::path folder_;
  Served server_;
  std::map<ChaosJob, RunRecord> references_;
  std::size_t trials_ = 0;
};

} // namespace tinkaf::test
