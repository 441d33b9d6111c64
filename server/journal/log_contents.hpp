// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/journal/records.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tinkaf::server {

/// A record that was read.
struct LoggedRecord {
  RecordKind kind = RecordKind::session;
  std::string note;
  std::string bytes;
};

/// What a log says.
struct LogContents {
  /// What became of a request.
  struct Outcome {
    OutcomeNote note;
    std::string bytes; // empty if the result is not kept
    std::optional<Timestamp> delivered;
    std::optional<Timestamp> expired;
  };

  /// Reads a log and cuts off what was left unfinished at its end.
  [[nodiscard]] static LogContents read(RecordLog& log);

  /// Null if the request is not done.
  [[nodiscard]] const Outcome* find(const std::string& request_id) const {
    const auto it = outcomes.find(request_id);
    return it == outcomes.end() ? nullptr : &it->second;
  }

  /// All but what is in the other fields, in order.
  std::vector<LoggedRecord> records;
  std::map<std::string, Outcome> outcomes;

  /// Of the last note of that kind.
  std::optional<Timestamp> seen;
  std::optional<std::string> project_id;
  std::optional<std::string> ended;
  std::optional<std::string> stored;
  std::optional<std::string> lost;

  /// Why the log cannot be trusted; absent if it can.
  std::optional<std::string> damage;
};

} // namespace tinkaf::server
