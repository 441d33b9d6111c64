// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "server/journal/record_log.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace tinkaf::server {

/// Where a server writes down what it has accepted. Thread-safe; held by one server at a time,
/// since its state folder is.
///
/// A session has a folder with its log, one for each of its models, the models' states and the
/// weights of its samplers, so that damage stays where it is. Samples without a session have a log
/// of their own.
class JournalFolder {
public:
  /// Makes the folder if it is missing.
  /// @returns `Errc::invalid_argument` for a folder of another program or of a later version,
  ///   `Errc::io_error` naming the folder
  [[nodiscard]] static Result<JournalFolder> open(std::filesystem::path dir, DiskFull full = {});

  [[nodiscard]] std::vector<std::string> sessions() const;

  /// Numbers of the models of a session that have a log.
  [[nodiscard]] std::vector<std::int64_t> models(const std::string& session_id) const;

  /// Makes the folder of a session. @returns `Errc::io_error`
  [[nodiscard]] Result<void> add(const std::string& session_id) const;

  /// Removes all that is there of a session.
  void remove(const std::string& session_id) const;

  /// Something in the folder of a session.
  [[nodiscard]] std::filesystem::path file(const std::string& session_id,
                                           const std::string& name) const {
    return dir_ / session_id / name;
  }

  /// What the folder of a session holds, by name.
  [[nodiscard]] std::vector<std::string> files(const std::string& session_id) const;

  // Logs; each is to be made once.

  [[nodiscard]] std::shared_ptr<RecordLog> session_log(const std::string& session_id) const;
  [[nodiscard]] std::shared_ptr<RecordLog> model_log(const std::string& session_id,
                                                     std::int64_t number) const;

  /// Of samples without a session.
  [[nodiscard]] std::shared_ptr<RecordLog> loose_log() const;

private:
  JournalFolder(std::filesystem::path dir, DiskFull full);

  std::filesystem::path dir_;
  DiskFull full_;
};

} // namespace tinkaf::server
