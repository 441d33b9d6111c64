// SPDX-License-Identifier: Apache-2.0
#include "cli/connection.hpp"

#include "api/endpoint.hpp"
#include "api/http/http_client.hpp"
#include "cli/limits.hpp"
#include "cli/report.hpp"
#include "cli/resources.hpp"
#include "cli/shell_words.hpp"
#include "cli/test_breaks.hpp"
#include "cli/test_pace.hpp"
#include "server/model/config_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <future>
#include <utility>

namespace tinkaf::cli {

namespace {

constexpr auto wait_slice = std::chrono::milliseconds{100};
constexpr auto probe_timeout = std::chrono::milliseconds{10'000};

bool is_set(const char* variable) {
  const auto* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

/// Asks once whether anybody is there, so that a wrong address shows at once and not after all the
/// tries that a run deserves. Whoever takes the question is there, whatever became of the answer.
Result<void> probe(const ClientOptions& options, const std::stop_token& stop) {
  auto client = HttpClient::create(http_client_options(options));
  if (!client)
    return fail(client.error());
  auto answer = std::make_shared<std::promise<Result<HttpResponse>>>();
  auto arrived = answer->get_future();
  (*client)->submit(
      make_request(Endpoint::healthz, {}, {}, std::min(probe_timeout, options.request_timeout)),
      [answer](Result<HttpResponse> x) { answer->set_value(std::move(x)); });
  while (arrived.wait_for(wait_slice) != std::future_status::ready)
    if (stop.stop_requested())
      return fail(Errc::cancelled, "stopped");
  auto response = arrived.get();
  if (!response && !response.error().ambiguous)
    return fail(response.error().code, fmt::format("cannot reach {}: {}", options.base_url,
                                                   connection_reason(response.error().message)));
  return {};
}

std::string base_name(const std::string& model) {
  return model.substr(0, model.find(':'));
}

std::string list(const ServerCapabilities& capabilities) {
  auto result = std::string{};
  for (const auto& model : capabilities.supported_models)
    result += (result.empty() ? "" : ", ") + model.model_name;
  return result;
}

} // namespace

void add_service_options(CLI::App& command, ServiceArguments& arguments) {
  command.add_option("--base-url", arguments.base_url,
                     "Address of the service [$TINKER_BASE_URL, else a local server inside this "
                     "program unless $TINKER_API_KEY is set]");
  command.add_option("--model", arguments.model, "Base model [the service's only one]");
  command.add_option("--tokenizer", arguments.tokenizer_file,
                     "The model's tokenizer.json [that of the shipped model]");
  command.add_option("--state", arguments.state_dir,
                     "Folder for the local server's checkpoints [~/.local/state/tinkaf]");
  command.add_option("--model-dir", arguments.model_dir,
                     "Folder of the local server's base model [the shipped one]");
  command
      .add_option("--threads", arguments.threads, "Threads of the local server; 0 takes all cores")
      ->check(whole_number(0, most_threads));
}

std::string same_service(const ServiceArguments& arguments) {
  auto text = std::string{};
  for (const auto& [option, value] :
       {std::pair{"--base-url", arguments.base_url}, std::pair{"--model", arguments.model},
        std::pair{"--tokenizer", arguments.tokenizer_file.string()},
        std::pair{"--state", arguments.state_dir.string()},
        std::pair{"--model-dir", arguments.model_dir.string()}})
    if (!value.empty())
      text += fmt::format(" {} {}", option, shell_word(value));
  return text;
}

bool names_service(const ServiceArguments& arguments) {
  return !arguments.base_url.empty() || is_set("TINKER_BASE_URL") || is_set("TINKER_API_KEY");
}

Result<ClientOptions> client_options(const ServiceArguments& arguments) {
  auto options = ClientOptions{};
  options.base_url = arguments.base_url;
  options = with_environment(std::move(options));
  if (options.api_key.empty() && options.credential_command.empty())
    return fail(Errc::unauthenticated,
                fmt::format("there is no API key for {}: set TINKER_API_KEY; or run `tinkaf serve` "
                            "and set TINKER_BASE_URL to the address that it prints",
                            options.base_url));
  if (auto paced = apply_test_pace(options); !paced)
    return fail(std::move(paced.error()));
  if (auto broken = apply_test_breaks(options); !broken)
    return fail(std::move(broken.error()));
  if (auto valid = validate(options); !valid)
    return fail(std::move(valid.error()));
  return options;
}

Result<Connection> Connection::open(const ServiceArguments& arguments, std::stop_token stop) {
  auto result = Connection{};
  result.arguments_ = arguments;
  auto options = ClientOptions{};
  if (!names_service(arguments)) {
    auto models = local_models(arguments.model_dir);
    if (!models)
      return fail(models.error());
    auto server = Server::start({.state_dir = arguments.state_dir,
                                 .models = std::move(*models),
                                 .threads = arguments.threads});
    if (!server && server.error().code == Errc::conflict) // the port is a free one
      return fail(Errc::conflict,
                  server.error().message
                      + " with --state, or use that server: --base-url and the address that "
                        "`tinkaf serve` has printed");
    if (!server)
      return fail(server.error());
    result.server_ = std::move(*server);
    options.base_url = result.server_->address();
    options.api_key = std::string{local_api_key}; // no command of the environment is asked for one
  } else {
    auto named = client_options(arguments);
    if (!named)
      return fail(named.error());
    options = std::move(*named);
    if (auto there = probe(options, stop); !there)
      return fail(there.error());
  }
  result.options_ = std::move(options);
  auto service = Service::connect(result.options_);
  if (!service)
    return fail(service.error());
  result.service_ = std::move(*service);
  auto capabilities = result.service_->get_server_capabilities().get();
  if (!capabilities)
    return fail(capabilities.error());
  result.capabilities_ = std::move(*capabilities);
  return result;
}

Result<Service> Connection::job_session(const std::optional<SessionRecord>& record) {
  if (!record && !session_used_) {
    session_used_ = true;
    return *service_;
  }
  auto service = record ? Service::resume(*record, options_) : Service::connect(options_);
  if (service) {
    session_used_ = true;
    service_ = *service;
  }
  return service;
}

Result<std::string> Connection::choose_model() const {
  const auto& offered = capabilities_.supported_models;
  const auto& wanted = arguments_.model;
  if (wanted.empty()) {
    if (server_)
      return server_->model_names().front();
    if (offered.size() == 1)
      return offered.front().model_name;
    return fail(
        Errc::invalid_argument,
        fmt::format("name a base model with --model; the service offers: {}", list(capabilities_)));
  }
  if (auto found = check_offered(wanted); !found)
    return fail(std::move(found.error()));
  return wanted;
}

Result<void> Connection::check_offered(const std::string& model) const {
  const auto& offered = capabilities_.supported_models;
  for (const auto& one : offered)
    if (base_name(one.model_name) == base_name(model))
      return {};
  if (offered.empty())
    return {};
  return fail(Errc::not_found, fmt::format("unknown model \"{}\"; the service offers: {}", model,
                                           list(capabilities_)));
}

Result<void> Connection::check_asked_for(const std::string& model) const {
  const auto& wanted = arguments_.model;
  if (wanted.empty() || base_name(wanted) == base_name(model))
    return {};
  return fail(Errc::invalid_argument, fmt::format("it is {}, but --model is {}", model, wanted));
}

std::optional<std::int64_t> Connection::max_context_length(const std::string& model) const {
  for (const auto& offered : capabilities_.supported_models)
    if (offered.model_name == model)
      return offered.max_context_length;
  return std::nullopt;
}

Result<text::Tokenizer> Connection::tokenizer(const std::string& model) const {
  if (!arguments_.tokenizer_file.empty())
    return text::Tokenizer::load(arguments_.tokenizer_file);
  auto shipped = shipped_tokenizer(model);
  if (!shipped && shipped.error().code == Errc::not_found)
    shipped.error().message += "; give the model's tokenizer.json with --tokenizer FILE";
  return shipped;
}

Result<text::Tokenizer> Connection::shipped_tokenizer(const std::string& model) const {
  if (auto models = local_models(arguments_.model_dir)) {
    for (const auto& local : *models) {
      const auto config = model::read_config(local.dir / "config.json");
      if (config && (local.name.empty() ? config->name : local.name) == model)
        return text::Tokenizer::load(local.dir / "tokenizer.json");
    }
  }
  return fail(Errc::not_found, fmt::format("the tokenizer of {} is not available here", model));
}

} // namespace tinkaf::cli
