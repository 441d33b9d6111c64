// SPDX-License-Identifier: Apache-2.0
#include "server/model/atomic_file.hpp"
#include "server/model/random_model.hpp"
#include "test/server/server_fixture.hpp"

#include <string>
#include <vector>

using namespace tinkaf;
using namespace tinkaf::test;

// Restarts of the whole server over a small model that really computes.

namespace {

/// Trains for a few steps and saves.
struct Training {
  explicit Training(std::chrono::milliseconds repeated_work) {
    const auto dir = folder.path() / "model";
    REQUIRE(model::write_random_model(dir).has_value());
    options.state_dir = folder.path() / "state";
    options.models = {{.name = "small", .dir = dir}};
    options.threads = 1;
    options.limits.repeated_work = repeated_work;
    restart();
  }

  /// Ends the server whatever it has to do, and starts another.
  void restart() {
    server.reset();
    auto started = Server::start(options);
    REQUIRE(started.has_value());
    server = std::move(*started);
    api.emplace(*server);
  }

  /// @param restarts whether there is a new server behind each submission
  void run(bool restarts) {
    const auto session = api->session();
    const auto model = api->model(session, 0, "small");
    std::vector<std::pair<RequestType, std::string>> ids;
    std::int64_t number = 0;
    const auto submit = [&](RequestType type, const std::string& call, const std::string& body) {
      ids.emplace_back(type, api->submit(call, body));
      if (restarts)
        restart();
    };
    for (Token token = 1; token <= 3; ++token) {
      submit(RequestType::forward_backward, "forward_backward", pass(model, ++number, token));
      submit(RequestType::forward_backward, "forward_backward", pass(model, ++number, token + 5));
      submit(RequestType::optim_step, "optim_step", step(model, ++number));
      if (token == 2) // some results are fetched before the end
        (void)api->wait(ids.back().first, ids.back().second);
    }
    submit(RequestType::forward_backward, "forward_backward", pass(model, ++number, 9));
    submit(RequestType::save_weights, "save_weights",
           wire::to_json(SaveWeightsRequest{.model_id = model, .seq_id = ++number, .path = "a"}));
    submit(RequestType::optim_step, "optim_step", step(model, ++number));
    submit(RequestType::save_weights, "save_weights",
           wire::to_json(SaveWeightsRequest{.model_id = model, .seq_id = ++number, .path = "b"}));
    for (const auto& [type, id] : ids) {
      (void)api->wait(type, id);
      const auto body = api->post("retrieve_future", ApiClient::poll_body(id)).body;
      if (type != RequestType::save_weights) // whose paths hold the session's id
        results.push_back(body);
    }
    for (const std::string name : {"a", "b"})
      for (const std::string file : {"adapter_model.safetensors", "optimizer.safetensors"})
        files.push_back(model::read_text_file(options.state_dir / "checkpoints" / model / "weights"
                                              / name / file)
                            .value());
  }

  TempFolder folder;
  ServerOptions options;
  std::unique_ptr<Server> server;
  std::optional<ApiClient> api;
  std::vector<std::string> results;
  std::vector<std::string> files;
};

} // namespace

TEST_CASE("A run with a new server behind each request ends with the same bits",
          "[server][restart][model]") {
  Training plain{std::chrono::seconds{10}};
  plain.run(false);
  // Each state is stored, or none is.
  Training troubled{std::chrono::seconds{GENERATE(0, 10)}};
  troubled.run(true);
  CHECK(troubled.results == plain.results);
  CHECK((troubled.files == plain.files));
}
