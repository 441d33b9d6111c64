// SPDX-License-Identifier: Apache-2.0
#include "server/server.hpp"

#include "server/faults.hpp"
#include "server/http/http_server.hpp"
#include "server/local_trainer.hpp"
#include "server/service.hpp"

#include <fmt/format.h>

#include <set>
#include <utility>

#include <sys/resource.h>

namespace tinkaf {

namespace {

/// Every waiting client holds a connection.
void raise_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max)
    return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

Result<void> check(const ServerOptions& options,
                   const std::vector<std::shared_ptr<server::Trainer>>& trainers) {
  if (trainers.empty())
    return fail(Errc::invalid_argument, "models: a server needs at least one");
  std::set<std::string> seen;
  for (const auto& trainer : trainers)
    if (!seen.insert(trainer->name()).second)
      return fail(Errc::invalid_argument,
                  fmt::format("models: two are called `{}`", trainer->name()));
  if (!is_loopback(options.host) && options.api_key.empty())
    return fail(Errc::invalid_argument,
                fmt::format("host: others can reach `{}`, so `api_key` must be set", options.host));
  if (server::any(options.faults) && !options.test_mode)
    return fail(Errc::invalid_argument, "faults: a server plays them with `test_mode` only");
  return {};
}

server::HttpServerOptions http_options(const ServerOptions& options, server::Service& service) {
  return {
      .host = options.host,
      .port = options.port,
      .max_body = options.limits.max_body,
      .keep_alive = options.limits.keep_alive,
      .stall = options.limits.read_stall,
      .slow_request = options.limits.slow_request,
      .max_connections = options.limits.max_connections,
      .refuse = [&service](const server::HttpCall& call) { return service.refuse(call); },
      .handle =
          [&service](server::HttpCall call, server::Responder responder) {
            service.handle(std::move(call), std::move(responder));
          },
      .tick = [&service] { service.tick(); },
  };
}

} // namespace

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

class Server::Impl {
public:
  std::vector<std::string> names;
  std::string host;
  std::unique_ptr<server::Service> service;
  std::unique_ptr<server::HttpServer> http; // calls the service
};

Result<std::unique_ptr<Server>> Server::start(ServerOptions options) {
  if (options.models.empty())
    return fail(Errc::invalid_argument, "models: a server needs at least one");
  auto pool = std::make_shared<model::ThreadPool>(options.threads);
  std::vector<std::shared_ptr<server::Trainer>> trainers;
  for (const auto& served : options.models) {
    auto base = model::BaseModel::load(served.dir, served.name, {.context = served.context});
    if (!base)
      return fail(std::move(base.error()));
    trainers.push_back(server::make_local_trainer(std::move(*base), pool));
  }
  return start(std::move(options), std::move(trainers));
}

Result<std::unique_ptr<Server>>
Server::start(ServerOptions options, std::vector<std::shared_ptr<server::Trainer>> trainers) {
  if (auto good = check(options, trainers); !good)
    return fail(std::move(good.error()));
  const auto faults = std::make_shared<server::Faults>(options.faults);
  const auto disk_full = [faults] { return faults->disk_is_full(); };
  auto state = server::StateFolder::open(options.state_dir, disk_full);
  if (!state)
    return fail(std::move(state.error()));
  auto journal = server::JournalFolder::open((*state)->dir() / "journal", disk_full);
  if (!journal)
    return fail(std::move(journal.error()));
  raise_file_limit();
  auto impl = std::make_unique<Impl>();
  for (const auto& trainer : trainers)
    impl->names.push_back(trainer->name());
  impl->host = options.host;
  impl->service = std::make_unique<server::Service>(options, std::move(trainers), std::move(*state),
                                                    std::move(*journal), faults);
  auto http = server::HttpServer::start(http_options(options, *impl->service));
  if (!http)
    return fail(std::move(http.error()));
  impl->http = std::move(*http);
  return std::unique_ptr<Server>{new Server{std::move(impl)}};
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() {
  stop();
}

std::string Server::address() const {
  const bool bare_ipv6 = impl_->host.find(':') != std::string::npos;
  return bare_ipv6 ? fmt::format("http://[{}]:{}", impl_->host, port())
                   : fmt::format("http://{}:{}", impl_->host, port());
}

std::uint16_t Server::port() const noexcept {
  return impl_->http->port();
}

const std::filesystem::path& Server::state_dir() const noexcept {
  return impl_->service->state_dir();
}

std::vector<std::string> Server::model_names() const {
  return impl_->names;
}

void Server::stop() {
  impl_->service->stop();
  impl_->http->stop();
}

} // namespace tinkaf
