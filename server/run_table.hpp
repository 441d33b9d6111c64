// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/rest_runs.hpp"
#include "messages/session.hpp"
#include "messages/timestamp.hpp"
#include "server/state_folder.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tinkaf::server {

/// What is noted of a training run. It outlives the model and the server.
struct RunRecord {
  std::string id;
  std::string session_id;
  std::string base_model;
  LoraConfig lora_config;
  UserMetadata user_metadata;
  std::optional<std::string> project_id;
  Timestamp last_request;

  /// Why the run's state is lost; absent if it is not.
  std::optional<std::string> damage;

  TokenCounts tokens = {};
};

/// All training runs. Thread-safe.
///
/// Requests are noted in memory and written with the next `store`, so that the time of the last one
/// may be too early after a crash.
class RunTable {
public:
  /// Reads the records. A damaged or missing one makes a run with the reason as its damage; its
  /// file stays as it is.
  explicit RunTable(const StateFolder& folder, Timestamp now);

  /// Adds a run and stores it.
  void add(RunRecord record);

  void note_request(const std::string& id, Timestamp now);
  void note_damage(const std::string& id, const std::string& reason);

  /// Adds to what the run has used; what it has used then, or nothing if there is no such run.
  std::optional<TokenCounts> note_tokens(const std::string& id, const TokenCounts& more);

  /// The run has used so much, or more if that is known.
  void restore_tokens(const std::string& id, const TokenCounts& least);

  /// Moves the runs of a session to a project.
  void move(const std::string& session_id, const std::string& project_id);

  /// Writes a record if it has changed. What cannot be written is tried again with the next change.
  void store(const std::string& id);
  void store_all();

  [[nodiscard]] std::optional<RunRecord> find(const std::string& id) const;

  /// Newest activity first.
  [[nodiscard]] std::vector<RunRecord> list() const;

private:
  struct Entry {
    RunRecord record;
    bool changed = false;
    bool unreadable = false; // not to be replaced
  };

  const StateFolder& folder_;
  std::mutex writing_; // taken before the other, which is never held while a file is written
  mutable std::mutex mutex_;
  std::map<std::string, Entry> runs_;
};

} // namespace tinkaf::server
