// SPDX-License-Identifier: Apache-2.0
#include "cli/storage.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace tinkaf::cli {

namespace {

bool is_set(const char* variable) {
  const auto* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

} // namespace

Result<Storage> Storage::open(const ServiceArguments& arguments, const std::stop_token& stop) {
  auto result = Storage{};
  if (!arguments.base_url.empty() || is_set("TINKER_BASE_URL") || is_set("TINKER_API_KEY")) {
    auto options = ClientOptions{};
    options.base_url = arguments.base_url;
    auto rest = RestClient::connect(std::move(options));
    if (!rest)
      return fail(std::move(rest.error()));
    result.rest_ = std::move(*rest);
    return result;
  }
  auto connection = Connection::open(arguments, stop);
  if (!connection)
    return fail(std::move(connection.error()));
  auto rest = connection->service().create_rest_client();
  if (!rest)
    return fail(std::move(rest.error()));
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
