// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/session.hpp"
#include "messages/timestamp.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tinkaf::server {

/// What its client says of a session, and since when there is one.
struct SessionNotes {
  std::optional<std::string> project_id = {};
  UserMetadata user_metadata = {};
  std::optional<std::string> display_name = {};
  Timestamp created = {};
};

/// Sessions, when they were last heard of, and what was made in them under which number. Not
/// thread-safe; the clock comes in as an argument.
class SessionTable {
public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// What a session counts; the two have numbers of their own.
  enum class Kind : std::uint8_t { model, sampler };

  /// Who has taken a number.
  struct Claim {
    /// Tells payloads apart.
    std::string digest;

    /// Of the request that made it; empty if that was answered at once.
    std::string request_id;
  };

  /// Opens a session and returns its id.
  [[nodiscard]] std::string create(TimePoint now, SessionNotes notes = {});

  /// Opens the session of that id, for example one of an earlier server.
  void open(const std::string& session_id, TimePoint now, SessionNotes notes);

  void close(const std::string& session_id) {
    sessions_.erase(session_id);
  }

  /// When the session was last heard of. @pre it exists
  [[nodiscard]] TimePoint last_seen(const std::string& session_id) const {
    return sessions_.at(session_id).last_seen;
  }

  /// Notes a sign of life; false if there is no such session.
  bool touch(const std::string& session_id, TimePoint now);

  /// Moves a session to a project; false if there is no such session.
  bool move(const std::string& session_id, const std::string& project_id);

  /// Null if there is no such session.
  [[nodiscard]] const SessionNotes* notes(const std::string& session_id) const;

  [[nodiscard]] bool contains(const std::string& session_id) const {
    return sessions_.contains(session_id);
  }

  /// The newest first.
  [[nodiscard]] std::vector<std::string> ids() const;

  /// Who has taken the number; nothing if nobody has.
  /// @pre the session exists
  [[nodiscard]] const Claim* find(const std::string& session_id, Kind kind,
                                  std::int64_t number) const;

  /// @pre the session exists
  void claim(const std::string& session_id, Kind kind, std::int64_t number, Claim claim);

  /// The sessions that were last heard of `limit` ago or longer.
  [[nodiscard]] std::vector<std::string> silent(TimePoint now,
                                                std::chrono::milliseconds limit) const;

  /// `<session>:train:<number>` or `<session>:sample:<number>`
  [[nodiscard]] static std::string id_of(std::string_view session_id, Kind kind,
                                         std::int64_t number);

  /// The session in such an id.
  [[nodiscard]] static std::string session_of(const std::string& id) {
    return id.substr(0, id.find(':'));
  }

private:
  struct Session {
    TimePoint last_seen;
    std::uint64_t number = 0; // in order of creation
    SessionNotes notes;
    std::map<std::pair<Kind, std::int64_t>, Claim> claims;
  };

  std::map<std::string, Session> sessions_;
  std::uint64_t count_ = 0;
};

} // namespace tinkaf::server
