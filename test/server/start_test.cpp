// SPDX-License-Identifier: Apache-2.0
#include "server/model/random_model.hpp"
#include "test/server/server_fixture.hpp"

using namespace tinkaf;
using namespace tinkaf::test;

namespace {

void check_fails(ServerOptions options, std::vector<std::shared_ptr<server::Trainer>> trainers,
                 Errc code, const std::string& part) {
  const auto started = trainers.empty() ? Server::start(std::move(options))
                                        : Server::start(std::move(options), std::move(trainers));
  REQUIRE_FALSE(started.has_value());
  INFO(to_string(started.error()));
  CHECK(started.error().code == code);
  CHECK(started.error().message.find(part) != std::string::npos);
}

} // namespace

TEST_CASE_METHOD(ServerFixture, "A server tells where it is", "[server][start]") {
  CHECK(server->address() == "http://127.0.0.1:" + std::to_string(server->port()));
  CHECK(server->state_dir() == options.state_dir);
  CHECK(server->model_names() == std::vector<std::string>{"scripted"});
}

TEST_CASE_METHOD(ServerFixture, "A server that cannot start says why", "[server][start]") {
  auto other = options;
  check_fails(other, {trainer}, Errc::conflict, options.state_dir.string());
  other.state_dir = folder.path() / "other";
  other.port = server->port();
  check_fails(other, {trainer}, Errc::conflict, std::to_string(server->port()));
  other.port = 0;
  other.host = "0.0.0.0";
  check_fails(other, {trainer}, Errc::invalid_argument, "api_key");
  other.host = "192.0.2.1";
  other.api_key = "tml-key";
  check_fails(other, {trainer}, Errc::invalid_argument, "192.0.2.1");
  other.host = "127.0.0.1";
  check_fails(other, {trainer, trainer}, Errc::invalid_argument, "scripted");
  check_fails(other, {}, Errc::invalid_argument, "models");
  other.models = {{.name = "m", .dir = folder.path() / "missing"}};
  check_fails(other, {}, Errc::io_error, "missing");
}

TEST_CASE_METHOD(ServerFixture, "Servers come and go on one folder and one port",
                 "[server][start]") {
  options.port = server->port();
  for (int i = 0; i < 5; ++i) {
    restart();
    auto api = client();
    (void)api.model(api.session());
    CHECK(server->port() == options.port);
  }
}
