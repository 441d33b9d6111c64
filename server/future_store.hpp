// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/future.hpp"
#include "messages/timestamp.hpp"
#include "server/http/http_exchange.hpp"
#include "server/journal/record_log.hpp"
#include "server/queue_view.hpp"
#include "server/run_counts.hpp"
#include "server/server_options.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tinkaf::server {

/// Results by request id, and the polls that wait for them. Thread-safe; the clock comes in as an
/// argument.
///
/// What becomes of a request is written to its log, if it has one, before anybody is told. Where
/// that fails, a result is told all the same: a server that starts on the log computes it again. A
/// failure may not come again, so it is told once it is written.
class FutureStore {
public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// Adds to what is known of a request that is not done: why it waits, and what is computed.
  /// Called without a lock.
  using Look
      = std::function<void(const std::string& request_id, const RecordLog* log, QueueView& view)>;

  /// @param wall the time of day, for logs
  explicit FutureStore(const ServerLimits& limits, std::function<Timestamp()> wall = {},
                       Look look = {});

  /// Makes an id whose result is to come.
  [[nodiscard]] std::string open(RequestType type = RequestType::create_model,
                                 std::shared_ptr<RecordLog> log = nullptr,
                                 TimePoint now = std::chrono::steady_clock::now());

  /// Forgets an id that nobody was told.
  void drop(const std::string& request_id);

  /// Stores a result or a failure and answers the polls that wait for it. A second call for one id
  /// does nothing.
  /// @param counts what its run has used, to be noted with the result
  void finish(const std::string& request_id, Result<FutureValue> result, TimePoint now,
              std::optional<RunCounts> counts = {});

  /// Answers a poll now, or keeps it until there is a result or `poll_hold` is over.
  /// @param metadata_allowed a result beyond `announce_bytes` may be announced with its size first
  /// @param accept the poll's `Accept` header
  void poll(const std::string& request_id, bool metadata_allowed, const std::string& accept,
            const Responder& responder, TimePoint now);

  /// Answers polls that have waited long enough, forgets what is past its retention, and writes
  /// failures for which there was no room.
  void tick(TimePoint now);

  /// Answers all polls, also later ones of what is pending, with 503: a later server will know.
  void close(const std::string& reason);

  // What an earlier server left; before anybody polls.

  void restore_pending(const std::string& request_id, RequestType type,
                       std::shared_ptr<RecordLog> log);

  /// @param delivered when it was first told, if it was
  void restore(const std::string& request_id, FuturePoll result, TimePoint finished,
               std::optional<TimePoint> delivered, std::size_t bytes,
               std::shared_ptr<RecordLog> log);
  void restore_expired(const std::string& request_id, TimePoint expired,
                       std::shared_ptr<RecordLog> log);

  /// What is there of a request.
  enum class State : std::uint8_t { unknown, pending, kept, expired };
  [[nodiscard]] State state(const std::string& request_id) const;

private:
  struct Poll {
    Responder responder;
    std::string request_id;
    std::string accept;
    bool metadata_allowed = false;
    bool answered = false; // guarded by the store's mutex
  };

  /// A result and its encodings, made when they are first asked for: JSON and protobuf.
  struct Outcome {
    FuturePoll poll;
    std::mutex mutex;
    std::array<std::optional<HttpReply>, 2> encoded;
  };

  struct Future {
    RequestType type = RequestType::create_model;
    std::shared_ptr<RecordLog> log;
    std::shared_ptr<Outcome> outcome; // null: pending, or expired
    TimePoint opened;
    std::uint64_t place = 0; // in its line; 0 if it does not wait
    TimePoint finished;
    std::optional<TimePoint> delivered;
    std::size_t bytes = 0;
    bool expired = false;
    std::string unwritten; // why its failure could not be written
    std::vector<std::shared_ptr<Poll>> polls;
  };

  [[nodiscard]] HttpReply encode(Outcome& outcome, const Poll& poll) const;
  void deliver(const std::shared_ptr<Outcome>& outcome, const Poll& poll, TimePoint now);
  void note_delivery(const std::string& request_id, std::size_t bytes, TimePoint now);
  void expire(Future& future, TimePoint now);
  [[nodiscard]] Result<void> write(const std::string& request_id, RequestType type, RecordLog& log,
                                   Outcome& outcome, std::optional<RunCounts> counts) const;
  void join_line(Future& future);
  void leave_line(Future& future);
  [[nodiscard]] QueueView view(const std::string& request_id, TimePoint now) const;
  [[nodiscard]] Timestamp wall_now() const;
  void sweep(TimePoint now);

  /// A failure that is to be written.
  struct Unwritten {
    std::string request_id;
    Error error;
    std::optional<RunCounts> counts;
  };

  const ServerLimits limits_;
  const std::function<Timestamp()> wall_;
  const Look look_;
  mutable std::mutex mutex_;
  std::optional<std::string> closed_;
  std::map<std::string, Future> futures_;

  // What is pending, in the order of its arrival: all of it, and by log.
  std::size_t pending_ = 0;
  std::uint64_t last_place_ = 0;
  std::map<const RecordLog*, std::set<std::uint64_t>> lines_;

  // Polls in the order in which their time is over, answered ones too.
  std::deque<std::pair<TimePoint, std::shared_ptr<Poll>>> held_;

  std::vector<Unwritten> unwritten_;
  TimePoint rewritten_;

  std::deque<std::string> delivered_; // oldest first, expired ones too
  std::size_t delivered_bytes_ = 0;
  TimePoint swept_;
  std::string prefix_;
  std::uint64_t count_ = 0;
};

} // namespace tinkaf::server
