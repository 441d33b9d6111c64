// SPDX-License-Identifier: Apache-2.0
#include "examples/example_service.hpp"

#include "server/model/random_model.hpp"

#include <cstdlib>
#include <iostream>
#include <random>
#include <system_error>
#include <utility>

namespace tinkaf::examples {

namespace {

std::string environment(const char* name) {
  const auto* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

} // namespace

Result<ExampleService> ExampleService::start(const ServerLimits& limits) {
  ExampleService service;
  service.folder_ = std::filesystem::temp_directory_path()
                    / ("tinkaf-example-" + std::to_string(std::random_device{}()));
  if (!environment("TINKER_BASE_URL").empty()) {
    service.model = environment("TINKAF_EXAMPLE_MODEL");
    if (service.model.empty())
      return fail(Errc::invalid_argument,
                  "TINKER_BASE_URL is set: name a base model of that service in "
                  "TINKAF_EXAMPLE_MODEL");
    return service;
  }
  service.model = "tiny";
  if (auto written = model::write_random_model(service.folder_ / "model"); !written)
    return fail(std::move(written.error()));
  ServerOptions options;
  options.limits = limits;
  options.state_dir = service.folder_ / "state";
  options.models = {{.name = service.model, .dir = service.folder_ / "model"}};
  auto server = Server::start(std::move(options));
  if (!server)
    return fail(std::move(server.error()));
  service.server_ = std::move(*server);
  service.options.base_url = service.server_->address();
  service.options.api_key = "tml-example";
  return service;
}

Result<text::Tokenizer> ExampleService::tokenizer() const {
  if (server_)
    return text::Tokenizer::load(folder_ / "model" / "tokenizer.json");
  const auto file = environment("TINKAF_EXAMPLE_TOKENIZER");
  if (file.empty())
    return fail(Errc::invalid_argument,
                "TINKER_BASE_URL is set: name the tokenizer.json of the model in "
                "TINKAF_EXAMPLE_TOKENIZER");
  return text::Tokenizer::load(file);
}

ExampleService::~ExampleService() {
  server_.reset();
  std::error_code ignored;
  if (!folder_.empty())
    std::filesystem::remove_all(folder_, ignored);
}

int run_example(const std::function<Result<void>(const ExampleService&)>& run,
                const ServerLimits& limits) {
  const auto service = ExampleService::start(limits);
  const auto done = service ? run(*service) : fail(service.error());
  if (!done)
    std::cerr << to_string(done.error()) << '\n';
  return done ? 0 : 1;
}

} // namespace tinkaf::examples
