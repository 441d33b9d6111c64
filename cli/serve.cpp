// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/limits.hpp"
#include "cli/report.hpp"
#include "cli/resources.hpp"
#include "cli/serve_key.hpp"
#include "cli/serve_test_mode.hpp"
#include "cli/stop_wait.hpp"
#include "server/server.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tinkaf::cli {

namespace {

/// A hundred years.
constexpr std::int64_t longest_expiry = 3'155'760'000;

constexpr std::int64_t most_models = 1'000'000;

struct ServeArguments {
  ServerOptions options;
  std::int64_t session_expiry = 3'600;
  std::filesystem::path model_dir;
  std::vector<std::string> models;
  std::size_t context = 0;
  std::filesystem::path api_key_file;
};

/// The models to be served, the default one first.
Result<std::vector<ServedModel>> models_of(const ServeArguments& arguments) {
  std::vector<ServedModel> out;
  if (arguments.models.empty() || !arguments.model_dir.empty()) {
    auto models = local_models(arguments.model_dir);
    if (!models)
      return models;
    out = std::move(*models);
  }
  for (const auto& text : arguments.models) {
    auto model = named_model(text);
    if (!model)
      return fail(model.error());
    out.push_back(std::move(*model));
  }
  for (auto& model : out)
    model.context = arguments.context;
  return out;
}

int serve(ServeArguments arguments, const StopSignals& signals) {
  auto models = models_of(arguments);
  if (!models)
    return report(models.error(), signals);
  arguments.options.models = std::move(*models);
  arguments.options.limits.session_expiry = std::chrono::seconds{arguments.session_expiry};
  if (const auto* key = std::getenv("TINKAF_SERVE_API_KEY"); key != nullptr)
    arguments.options.api_key = key;
  if (!arguments.api_key_file.empty()) {
    auto key = read_api_key(arguments.api_key_file);
    if (!key)
      return report(key.error(), signals);
    arguments.options.api_key = std::move(*key);
  }
  if (arguments.options.api_key.empty() && !is_loopback(arguments.options.host)) {
    complain(fmt::format("--host is `{}`, where others can reach the server: name with "
                         "--api-key-file a file that holds the key that clients must show, or set "
                         "TINKAF_SERVE_API_KEY to it, or leave --host out to serve this machine "
                         "only",
                         arguments.options.host));
    return exit_failure;
  }
  const auto notice
      = arguments.options.test_mode ? test_mode_notice(arguments.options) + "\n" : std::string{};
  auto server = Server::start(std::move(arguments.options));
  if (!server)
    return report(server.error(), signals);
  fmt::print("{}", notice);
  fmt::print("listening on {}\n", (*server)->address());
  std::fflush(stdout);
  wait_for_stop(signals.token());
  (*server)->stop();
  return exit_success;
}

} // namespace

void add_serve(CLI::App& parent, Command& run) {
  const auto arguments = std::make_shared<ServeArguments>();
  auto* command = parent.add_subcommand("serve", "Run the local server until ^C");
  auto& options = arguments->options;
  command
      ->add_option("--host", options.host,
                   "Address to listen on; anything but loopback needs a key")
      ->capture_default_str();
  command->add_option("--port", options.port, "Port; 0 takes a free one")
      ->check(whole_number(0, 65535))
      ->capture_default_str();
  command->add_option("--api-key-file", arguments->api_key_file,
                      "File with the key that clients must show [$TINKAF_SERVE_API_KEY]");
  command
      ->add_option("--max-models", options.limits.max_models,
                   "Models in training at the same time; making another one waits for room; 0 "
                   "means no limit")
      ->check(whole_number(0, most_models))
      ->capture_default_str();
  command->add_option("--state", options.state_dir,
                      "Folder for checkpoints and what is accepted [~/.local/state/tinkaf]");
  command->add_option("--model-dir", arguments->model_dir,
                      "Folder of the base model [the shipped one]");
  command->add_option("--model", arguments->models,
                      "NAME=DIR: a base model and what clients call it; may be repeated, and "
                      "replaces the shipped one");
  command
      ->add_option("--context", arguments->context,
                   "Most tokens of a sequence; 0 takes what the model and memory allow")
      ->check(whole_number(0, 1 << 24))
      ->capture_default_str();
  command->add_option("--threads", options.threads, "Threads that compute; 0 takes all cores")
      ->check(whole_number(0, most_threads))
      ->capture_default_str();
  command
      ->add_option(
          "--session-expiry", arguments->session_expiry,
          "Seconds after which a session is closed and its models are unloaded, if nothing "
          "is heard of its client; 0 means never")
      ->check(whole_number(0, longest_expiry))
      ->capture_default_str();
  add_test_mode(*command, options);
  command->callback([&run, arguments] {
    run = [arguments](const StopSignals& signals) { return serve(*arguments, signals); };
  });
}

} // namespace tinkaf::cli
