// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/connection.hpp"
#include "cli/signals.hpp"
#include "cli/tables.hpp"
#include "client/rest_client.hpp"

#include <CLI/CLI.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

// What the commands on runs and checkpoints share.

namespace tinkaf::cli {

/// Where runs and checkpoints are kept: a service, or the state folder of the local server.
class Storage {
public:
  /// Connects; without a session where a service is named by options or environment.
  [[nodiscard]] static Result<Storage> open(const ServiceArguments& arguments,
                                            const std::stop_token& stop);

  [[nodiscard]] const RestClient& rest() const noexcept {
    return *rest_;
  }

  /// How a client finds the service and shows itself there.
  [[nodiscard]] const ClientOptions& options() const noexcept {
    return options_;
  }

private:
  Storage() = default;

  // Goes last: it may hold the server.
  std::optional<Connection> connection_;
  ClientOptions options_;
  std::optional<RestClient> rest_;
};

/// Adds `--base-url`, `--state` and `--model-dir`.
void add_storage_options(CLI::App& command, ServiceArguments& arguments);

/// Waits for an answer, or for a stop.
template <class T>
[[nodiscard]] Result<T> wait(const Future<T>& future, const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    auto answer = future.get(std::chrono::milliseconds{100});
    if (answer || future.ready())
      return future.get();
  }
  return fail(Errc::cancelled, "stopped");
}

/// Prints a text to the standard output with a line end.
void print_line(std::string_view text);

[[nodiscard]] Timestamp now();

[[nodiscard]] inline const char* yes_no(bool x) noexcept {
  return x ? "Yes" : "No";
}

} // namespace tinkaf::cli
