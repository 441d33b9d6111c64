// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "server/server_options.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace tinkaf {

namespace server {
class Trainer;
} // namespace server

/// Whether only this machine reaches a server that listens on this address.
[[nodiscard]] bool is_loopback(const std::string& host);

/// A Tinker-compatible server that trains and samples on this machine.
///
/// Owns its threads: two for HTTP, two for parsing, one that computes (with its helpers). All
/// public functions may be called from any thread.
class Server {
public:
  /// Loads the models, locks the state folder and begins to listen.
  ///
  /// The limit on open files of the process is raised to what the system allows, since every
  /// waiting client holds a connection.
  ///
  /// @returns `Errc::invalid_argument` naming the bad option, `Errc::conflict` if the address is in
  ///   use or another server holds the state folder, `Errc::io_error` naming file and reason
  [[nodiscard]] static Result<std::unique_ptr<Server>> start(ServerOptions options);

  /// The same with trainers in the place of `options.models`, for example scripted ones.
  [[nodiscard]] static Result<std::unique_ptr<Server>>
  start(ServerOptions options, std::vector<std::shared_ptr<server::Trainer>> trainers);

  /// Calls `stop`.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// `http://HOST:PORT`, to be used as a client's base address.
  [[nodiscard]] std::string address() const;

  [[nodiscard]] std::uint16_t port() const noexcept;

  /// Where the checkpoints are.
  [[nodiscard]] const std::filesystem::path& state_dir() const noexcept;

  /// Names of the models, the first one being the default of the command line.
  [[nodiscard]] std::vector<std::string> model_names() const;

  /// Stops listening, gives up what is being computed, answers every waiting poll with a failure
  /// and closes all connections. Takes a few seconds at most; a second call does nothing.
  void stop();

private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

} // namespace tinkaf
