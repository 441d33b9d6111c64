// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/service.hpp"
#include "server/model/random_model.hpp"
#include "server/server.hpp"
#include "test/catch.hpp"

#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <utility>

namespace tinkaf::test {

/// A local server with a model that is small and random, and clients of it.
class LocalService {
public:
  explicit LocalService(ServerLimits limits = {}) {
    REQUIRE(model::write_random_model(folder_ / "model").has_value());
    ServerOptions options;
    options.state_dir = folder_ / "state";
    options.models = {{.name = "tiny", .dir = folder_ / "model"}};
    options.threads = 1;
    options.api_key = "tml-good";
    options.limits = std::move(limits);
    auto started = Server::start(std::move(options));
    REQUIRE(started.has_value());
    server = std::move(*started);
  }

  ~LocalService() {
    server.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  LocalService(const LocalService&) = delete;
  LocalService& operator=(const LocalService&) = delete;

  [[nodiscard]] ClientOptions options(const char* key = "tml-good") const {
    ClientOptions result;
    result.base_url = server->address();
    result.api_key = key;
    return result;
  }

  [[nodiscard]] Service connect(WireFormat format = WireFormat::automatic) const {
    auto wanted = options();
    wanted.wire_format = format;
    auto service = Service::connect(std::move(wanted));
    REQUIRE(service.has_value());
    return *service;
  }

  /// An adapter that is the same whenever it is made.
  [[nodiscard]] static TrainingClient train(const Service& service) {
    auto client = service.create_lora_training_client("tiny", {.rank = 4, .seed = 1});
    REQUIRE(client.has_value());
    return *client;
  }

  std::unique_ptr<Server> server;

private:
  std::filesystem::path folder_
      = std::filesystem::temp_directory_path()
        / ("tinkaf-client-test-" + std::to_string(std::random_device{}()));
};

} // namespace tinkaf::test
