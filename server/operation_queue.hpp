// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/http/http_exchange.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tinkaf::server {

/// Puts the operations of one model into the order of their numbers, whatever the order in which
/// they arrive, and remembers all numbers. Not thread-safe; the clock comes in as an argument.
class OperationQueue {
public:
  using TimePoint = std::chrono::steady_clock::time_point;

  struct Operation {
    std::string request_id;
    std::function<void()> run;
  };

  /// What is known about a number.
  enum class Seen : std::uint8_t {
    /// Not used yet.
    fresh,
    /// Used for the same payload; see `request_id` or `refusal`.
    repeated,
    /// Used for another payload.
    reused,
    /// Waited for in vain.
    given_up,
  };

  struct Lookup {
    Seen seen = Seen::fresh;

    /// Of the first request, if that was accepted.
    std::string request_id;

    /// The answer to the first request, if that was refused; else null.
    std::shared_ptr<const HttpReply> refusal;
  };

  /// Operations that waited in vain.
  struct Expired {
    std::int64_t missing = 0;
    std::vector<Operation> operations;
  };

  /// @param digest tells payloads apart
  [[nodiscard]] Lookup find(std::int64_t seq_id, const std::string& digest) const;

  /// Takes an operation and returns those that may run now, in order.
  /// @param seq_id fresh; absent for clients that do not number: behind all that has arrived
  [[nodiscard]] std::vector<Operation> add(std::optional<std::int64_t> seq_id, std::string digest,
                                           Operation operation, TimePoint now);

  /// Uses up a fresh number for a request that was refused; returns what may run now.
  [[nodiscard]] std::vector<Operation> refuse(std::int64_t seq_id, std::string digest,
                                              HttpReply refusal, TimePoint now);

  /// If something has waited longer than `limit` for a missing number: gives that number up and
  /// returns all that waits.
  [[nodiscard]] std::optional<Expired> expire(TimePoint now, std::chrono::milliseconds limit);

  /// Gives up the numbers that are missing and returns all that waits.
  /// @pre something waits
  [[nodiscard]] Expired give_up();

  /// Takes all operations out that wait for a number.
  [[nodiscard]] std::vector<Operation> take_waiting();

  /// Whether that request waits for a number.
  [[nodiscard]] bool waits(const std::string& request_id) const;

  /// How many operations wait for a number.
  [[nodiscard]] std::size_t waiting() const noexcept {
    return waiting_.size();
  }

  /// The number that is to come next.
  [[nodiscard]] std::int64_t next() const noexcept {
    return next_;
  }

private:
  struct Entry {
    std::optional<Operation> operation; // nothing: refused
    std::vector<Operation> followers;   // without a number
    TimePoint arrived;
  };

  /// Kept for each number as long as the model lives, so it is to be small.
  struct Known {
    std::string digest;
    std::string request_id;
    std::shared_ptr<const HttpReply> refusal; // null: accepted
  };

  [[nodiscard]] std::vector<Operation> advance();

  std::int64_t next_ = 1;
  std::map<std::int64_t, Known> known_;
  std::map<std::int64_t, Entry> waiting_;
};

} // namespace tinkaf::server
