// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "test/chaos/fault_proxy.hpp"

#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

namespace tinkaf::test {

/// What a run has left behind that must not depend on what befell it.
struct RunRecord {
  std::string metrics;

  /// Of the last checkpoint: whether it is the final one, weights, optimizer with its count of
  /// steps.
  bool final = false;
  std::string weights;
  std::string optimizer;
  std::string progress;

  /// What was drawn, from the last weights or between the steps, and the last checkpoint's files as
  /// they were fetched, by name.
  std::string samples;
  std::map<std::string, std::string> archive;

  friend bool operator==(const RunRecord&, const RunRecord&) = default;
};

/// Reads a run's folder and its last checkpoint from the server's state folder; what is missing is
/// empty.
[[nodiscard]] RunRecord read_run(const std::filesystem::path& run,
                                 const std::filesystem::path& state);

/// What differs, in words; empty if nothing does.
[[nodiscard]] std::string difference(const RunRecord& expected, const RunRecord& found);

/// What a server in test mode says of an operation that it lets fail.
inline constexpr std::string_view played_failure = "the engine failed, as it was asked to";

/// Watches for operations that a server has taken twice, or answered in two ways. Thread-safe.
class OperationWatch {
public:
  void note(const Exchange& exchange);

  /// Operations and samples that have been told of in two ways.
  [[nodiscard]] std::size_t contradictory() const;

  /// One of them, with the beginnings of what was told; empty if there is none.
  [[nodiscard]] std::string contradiction() const;

  /// Operations and samples that were told to have failed as asked.
  [[nodiscard]] std::size_t failed() const;

  /// Operations that have got more than one request id.
  [[nodiscard]] std::size_t doubled() const;

  /// Operations that were accepted.
  [[nodiscard]] std::size_t accepted() const;

private:
  mutable std::mutex mutex_;

  // By endpoint, model and number.
  std::map<std::string, std::set<std::string>> ids_;

  // Answers by request id.
  std::map<std::string, std::set<std::string>> results_;
};

/// The value of a field of a JSON text, as it stands there without quotes; empty if it is not
/// there. Fields within fields count too; the first wins.
[[nodiscard]] std::string json_field(std::string_view json, std::string_view name);

} // namespace tinkaf::test
