// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/timestamp.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace tinkaf::server {

/// Tokens in the form of a JWT that stand for a credential for a while. They are random and kept
/// here, not signed: good for one process, and for testing clients. Thread-safe; the clock comes in
/// as an argument.
class TokenTable {
public:
  enum class State : std::uint8_t { good, expired, unknown };

  explicit TokenTable(std::chrono::seconds life) : life_(life) {}

  /// Makes a token with the claims `sub`, `iat` and `exp`.
  [[nodiscard]] std::string issue(Timestamp now);

  [[nodiscard]] State check(const std::string& token, Timestamp now) const;

private:
  std::chrono::seconds life_;
  mutable std::mutex mutex_;
  std::map<std::string, Timestamp> expiries_;
};

} // namespace tinkaf::server
