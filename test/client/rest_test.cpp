// SPDX-License-Identifier: Apache-2.0
#include "client/rest_client.hpp"
#include "client/service.hpp"
#include "messages/tinker_path.hpp"
#include "server/model/random_model.hpp"
#include "server/server.hpp"
#include "test/catch.hpp"
#include "test/train/temp_folder.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>

using namespace std::chrono_literals;
using namespace tinkaf;

// The REST client against the local server over a real socket.

namespace {

constexpr auto limit = 60s;

struct Fixture {
  Fixture() {
    REQUIRE(model::write_random_model(folder.path() / "model").has_value());
    ServerOptions options;
    options.state_dir = folder.path() / "state";
    options.models = {{.name = "tiny", .dir = folder.path() / "model"}};
    options.threads = 1;
    options.api_key = "tml-good";
    auto started = Server::start(std::move(options));
    REQUIRE(started.has_value());
    server = std::move(*started);
  }

  [[nodiscard]] ClientOptions options() const {
    ClientOptions result;
    result.base_url = server->address();
    result.api_key = "tml-good";
    return result;
  }

  [[nodiscard]] RestClient rest() const {
    auto client = RestClient::connect(options());
    INFO((client ? "" : to_string(client.error())));
    REQUIRE(client.has_value());
    return *client;
  }

  /// Saves a checkpoint of a new model under each name.
  std::vector<std::string> save(const std::vector<std::string>& names) {
    auto service = Service::connect(options());
    REQUIRE(service.has_value());
    session_id = service->session_id();
    auto training = service->create_lora_training_client("tiny", {.rank = 4, .seed = 1});
    REQUIRE(training.has_value());
    run = training->model_id();
    std::vector<std::string> paths;
    for (const auto& name : names)
      paths.push_back(value(training->save_state(name)).path);
    return paths;
  }

  template <class T>
  static T value(const Future<T>& future) {
    auto result = future.get(limit);
    INFO((result ? "" : to_string(result.error())));
    REQUIRE(result.has_value());
    return *result;
  }

  test::TempFolder folder;
  std::unique_ptr<Server> server;
  std::string session_id;
  std::string run;
};

} // namespace

TEST_CASE_METHOD(Fixture, "What was trained can be looked up without a session",
                 "[client][rest][end-to-end]") {
  auto path = save({"a"}).front();
  auto client = rest();
  auto found = value(client.get_training_run_by_tinker_path(path));
  CHECK(found.training_run_id == run);
  CHECK(found.base_model == "tiny");
  CHECK(found.is_lora);
  CHECK(found.lora_rank == 4);
  REQUIRE(found.last_checkpoint.has_value());
  CHECK(found.last_checkpoint->tinker_path == path);
  CHECK(value(client.list_training_runs()).training_runs.size() == 1);
  CHECK(value(client.get_weights_info_by_tinker_path(path)).base_model == "tiny");
  auto session = value(client.get_session(session_id));
  CHECK(session.training_run_ids == std::vector<std::string>{run});
  auto sessions = client.all_sessions().all();
  REQUIRE(sessions.has_value());
  CHECK(*sessions == std::vector<std::string>{session_id}); // ours, and none of the REST client
}

TEST_CASE_METHOD(Fixture, "Checkpoints are published, expire and are removed",
                 "[client][rest][end-to-end]") {
  auto path = save({"a"}).front();
  auto client = rest();
  auto checkpoint = [&] { return value(client.list_checkpoints(run)).checkpoints.at(0); };
  CHECK_FALSE(checkpoint().is_public);
  value(client.publish_checkpoint_from_tinker_path(path));
  CHECK(checkpoint().is_public);
  auto again = client.publish_checkpoint_from_tinker_path(path).get(limit);
  REQUIRE_FALSE(again.has_value());
  CHECK(again.error().code == Errc::conflict);
  CHECK(again.error().attempts == 1);
  value(client.unpublish_checkpoint_from_tinker_path(path));
  CHECK_FALSE(checkpoint().is_public);

  CHECK_FALSE(checkpoint().expires_at.has_value());
  value(client.set_checkpoint_ttl_from_tinker_path(path, 1h));
  auto expiring = checkpoint();
  REQUIRE(expiring.expires_at.has_value());
  CHECK(*expiring.expires_at > expiring.time);
  value(client.set_checkpoint_ttl_from_tinker_path(path, {}));
  CHECK_FALSE(checkpoint().expires_at.has_value());

  value(client.delete_checkpoint_from_tinker_path(path));
  CHECK(value(client.list_checkpoints(run)).checkpoints.empty());
  auto gone = client.delete_checkpoint_from_tinker_path(path).get(limit);
  REQUIRE_FALSE(gone.has_value());
  CHECK(gone.error().code == Errc::not_found);
}

TEST_CASE_METHOD(Fixture, "All checkpoints are walked while some come and go",
                 "[client][rest][end-to-end]") {
  std::vector<std::string> names;
  for (auto letter = 'a'; letter <= 'j'; ++letter)
    names.emplace_back(1, letter);
  auto paths = save(names);
  auto client = rest();
  auto walk = client.all_user_checkpoints({.limit = 3});
  std::set<std::string> seen;
  for (int count = 0;; ++count) {
    auto next = walk.next();
    REQUIRE(next.has_value());
    if (!*next)
      break;
    CHECK(seen.insert((*next)->tinker_path).second);
    if (count == 3) // newest first: what was seen first goes
      for (auto i = names.size() - 2; i < names.size(); ++i)
        value(client.delete_checkpoint_from_tinker_path(paths[i]));
  }
  for (std::size_t i = 0; i + 2 < paths.size(); ++i)
    CHECK(seen.contains(paths[i]));
}

TEST_CASE_METHOD(Fixture, "A checkpoint is downloaded and its files are there",
                 "[client][rest][end-to-end]") {
  auto path = save({"a"}).front();
  auto client = rest();
  auto checkpoint = CheckpointRef::from_tinker_path(path).value();
  auto destination = folder.path() / "files";
  auto seen = std::make_shared<std::vector<DownloadProgress>>();
  auto done = value(client.download_checkpoint(
      {checkpoint, destination, false, [seen](const DownloadProgress& x) { seen->push_back(x); }}));
  CHECK(done.destination == destination);
  CHECK(std::filesystem::exists(destination / "adapter_config.json"));
  CHECK(std::filesystem::file_size(destination / "adapter_model.safetensors") > 0);
  REQUIRE_FALSE(seen->empty());
  CHECK(seen->back() == DownloadProgress{done.archive_bytes, done.archive_bytes});
  auto again = client.download_checkpoint({checkpoint, destination}).get(limit);
  CHECK(again.error().code == Errc::invalid_argument);
  value(client.download_checkpoint({checkpoint, destination, true, {}}));
}

TEST_CASE_METHOD(Fixture, "What the service does not know is told by name",
                 "[client][rest][errors]") {
  auto client = rest();
  CHECK(client.get_training_run("nobody").get(limit).error().code == Errc::not_found);
  auto odd = client.get_training_run("a/\x1b[2J").get(limit);
  CHECK(odd.error().code == Errc::invalid_argument);
  CHECK(odd.error().message.find("training_run_id is `a/\\x1b[2J`") == 0);
  for (auto size : {0, -1}) {
    for (const auto& error : {client.all_training_runs({.limit = size}).next().error(),
                              client.all_user_checkpoints({.limit = size}).next().error(),
                              client.all_sessions({.limit = size}).all().error(),
                              client.list_training_runs({.limit = size}).get(limit).error()}) {
      CHECK(error.code == Errc::invalid_argument);
      CHECK(error.message.find("limit is " + std::to_string(size)) == 0);
      CHECK(error.request_id.empty()); // nothing was sent
    }
  }
  CHECK(client.get_sampler("nobody").get(limit).error().code == Errc::not_found);
  auto missing = client
                     .download_checkpoint(
                         {{"nobody", "weights/a"}, folder.path() / "made" / "files", false, {}})
                     .get(limit);
  CHECK(missing.error().code == Errc::not_found);
  CHECK_FALSE(std::filesystem::exists(folder.path() / "made"));
  CHECK(client.get_training_run_by_tinker_path("tinker://a/models/b").get(limit).error().code
        == Errc::invalid_argument);
  CHECK(client.get_billing_usage("yesterday", "today")
            .get(limit)
            .error()
            .message.find("starting_on is `yesterday`")
        == 0);
  CHECK(client.whoami().get(limit).error().code == Errc::unauthenticated);
}

TEST_CASE_METHOD(Fixture, "A REST client of a session outlives its service handle",
                 "[client][rest][shutdown]") {
  std::optional<RestClient> client;
  {
    auto service = Service::connect(options());
    REQUIRE(service.has_value());
    auto made = service->create_rest_client();
    REQUIRE(made.has_value());
    client = *made;
  }
  CHECK(value(client->list_sessions()).sessions.size() == 1);
}
