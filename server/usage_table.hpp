// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/rest_usage.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>

namespace tinkaf::server {

/// For whom something was done.
struct UsageOwner {
  std::string session_id; // empty for a sample outside of a session
  std::string base_model;
  std::optional<std::string> project_id;
  UserMetadata user_metadata; // of the session
};

/// What was done, counted by the hour and kept for a little longer than can be asked for. In memory
/// only. Thread-safe; the clock comes in as an argument.
class UsageTable {
public:
  enum class Kind : std::uint8_t { trained_tokens, prompt_tokens, sampled_tokens, checkpoints };

  /// Longest time that can be asked for.
  static constexpr std::chrono::days longest{14};

  void note(const UsageOwner& owner, Kind kind, std::int64_t count, Timestamp now);

  /// What was done in the hours that begin within [from, before), oldest first.
  [[nodiscard]] BillingUsageResponse between(Timestamp from, Timestamp before) const;

private:
  // Hour, session, base model, project, kind.
  using Key = std::tuple<Timestamp, std::string, std::string, std::optional<std::string>, Kind>;

  mutable std::mutex mutex_;
  std::map<Key, std::int64_t> counts_;
  std::map<std::string, UserMetadata> sessions_;
};

} // namespace tinkaf::server
