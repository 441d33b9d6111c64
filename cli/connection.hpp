// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/service.hpp"
#include "server/server.hpp"
#include "text/tokenizer.hpp"

#include <CLI/CLI.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

namespace tinkaf::cli {

/// Where a command trains or samples, as given on the command line.
struct ServiceArguments {
  std::string base_url;
  std::string model;
  std::filesystem::path tokenizer_file;

  /// For the local server only.
  std::filesystem::path state_dir;
  std::filesystem::path model_dir;
  std::size_t threads = 0;
};

/// Adds `--base-url`, `--model` and the like.
void add_service_options(CLI::App& command, ServiceArguments& arguments);

/// The options that lead another command of this program to the same service and model, each with
/// a blank before it, for bash.
[[nodiscard]] std::string same_service(const ServiceArguments& arguments);

/// Whether options or environment name a service; else it is a local server inside this process.
[[nodiscard]] bool names_service(const ServiceArguments& arguments);

/// Options of a client of the named service, completed from the environment and checked.
/// @returns an error that names option or environment variable
[[nodiscard]] Result<ClientOptions> client_options(const ServiceArguments& arguments);

/// A service to work with: the one that options or environment name, else a local server inside
/// this process.
class Connection {
public:
  /// Connects. A service is hosted if `--base-url`, TINKER_BASE_URL or TINKER_API_KEY is set.
  /// @returns an error that names the address and the cause
  [[nodiscard]] static Result<Connection> open(const ServiceArguments& arguments,
                                               std::stop_token stop);

  /// The session in use.
  [[nodiscard]] const Service& service() const noexcept {
    return *service_;
  }

  /// Gives a job its session, which is the one in use from then on: the present one if it is new
  /// and a new one is asked for, else another. @param record the session to go on with
  [[nodiscard]] Result<Service> job_session(const std::optional<SessionRecord>& record);

  [[nodiscard]] const ClientOptions& options() const noexcept {
    return options_;
  }

  /// The local server; null if the service is another.
  [[nodiscard]] const Server* server() const noexcept {
    return server_.get();
  }

  /// The model to use: the one asked for, else the only one or the local server's default.
  /// @returns `Errc::not_found` for an unknown one, `Errc::invalid_argument` if it must be named
  [[nodiscard]] Result<std::string> choose_model() const;

  /// Whether the service offers a model, where it says what it offers.
  /// @returns `Errc::not_found` with the models that it offers
  [[nodiscard]] Result<void> check_offered(const std::string& model) const;

  /// Whether a base model is the one asked for, if one is.
  /// @returns `Errc::invalid_argument` naming both
  [[nodiscard]] Result<void> check_asked_for(const std::string& model) const;

  /// Most tokens of a sequence of a model, where the service says.
  [[nodiscard]] std::optional<std::int64_t> max_context_length(const std::string& model) const;

  /// The tokenizer of a model: `--tokenizer`, else that of a shipped model of this name.
  /// @returns `Errc::not_found` if it is not to be had here
  [[nodiscard]] Result<text::Tokenizer> tokenizer(const std::string& model) const;

  /// The tokenizer of a shipped model of this name, whatever `--tokenizer` is.
  /// @returns `Errc::not_found` if there is none
  [[nodiscard]] Result<text::Tokenizer> shipped_tokenizer(const std::string& model) const;

private:
  Connection() = default;

  ServiceArguments arguments_;

  // The service must go first: its last requests need the server.
  std::unique_ptr<Server> server_;
  std::optional<Service> service_;
  ClientOptions options_;

  /// Whether a job has had the session in use.
  bool session_used_ = false;

  ServerCapabilities capabilities_;
};

} // namespace tinkaf::cli
