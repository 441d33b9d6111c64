// SPDX-License-Identifier: Apache-2.0
#include "cli/storage.hpp"

#include "server/state_folder.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

namespace tinkaf::cli {

namespace {

/// What there is to look at; asking must not make a folder.
Result<void> check_state_dir(std::filesystem::path dir) {
  if (dir.empty())
    dir = server::StateFolder::default_dir();
  auto failed = std::error_code{};
  if (std::filesystem::is_directory(dir, failed))
    return {};
  return fail(Errc::not_found,
              fmt::format("nothing is stored here: there is no folder {}; --state names another, "
                          "--base-url a service",
                          dir.string()));
}

} // namespace

Result<Storage> Storage::open(const ServiceArguments& arguments, const std::stop_token& stop) {
  auto result = Storage{};
  if (names_service(arguments)) {
    auto options = client_options(arguments);
    if (!options)
      return fail(std::move(options.error()));
    result.options_ = *options;
    auto rest = RestClient::connect(std::move(*options));
    if (!rest)
      return fail(std::move(rest.error()));
    result.rest_ = std::move(*rest);
    return result;
  }
  if (auto there = check_state_dir(arguments.state_dir); !there)
    return fail(std::move(there.error()));
  auto connection = Connection::open(arguments, stop);
  if (!connection)
    return fail(std::move(connection.error()));
  auto rest = connection->service().create_rest_client();
  if (!rest)
    return fail(std::move(rest.error()));
  result.options_ = connection->options();
  result.connection_ = std::move(*connection);
  result.rest_ = std::move(*rest);
  return result;
}

void add_storage_options(CLI::App& command, ServiceArguments& arguments) {
  command.add_option("--base-url", arguments.base_url,
                     "Address of the service [$TINKER_BASE_URL, else what the local server keeps "
                     "unless $TINKER_API_KEY is set]");
  command.add_option("--state", arguments.state_dir,
                     "Folder of the local server's checkpoints [~/.local/state/tinkaf]");
  command.add_option("--model-dir", arguments.model_dir,
                     "Folder of the local server's base model [the shipped one]");
}

void print_line(std::string_view text) {
  fmt::print("{}\n", text);
}

Timestamp now() {
  return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

} // namespace tinkaf::cli
