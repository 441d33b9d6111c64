// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json_rest.hpp"
#include "test/server/restart_fixture.hpp"

#include <fstream>

using namespace std::chrono_literals;
using namespace tinkaf;
using namespace tinkaf::test;

namespace {

struct DamageFixture : RestartFixture {
  void write(const std::filesystem::path& path, const std::string& text) const {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream{path} << text;
  }

  /// Tries to start on a folder with that journal.
  Error refusal(const std::string& name, const std::string& text) {
    auto other = options;
    other.state_dir = folder.path() / "foreign";
    write(other.state_dir / "journal" / name, text);
    const auto started = Server::start(other, {trainer});
    REQUIRE_FALSE(started.has_value());
    return started.error();
  }

  [[nodiscard]] bool knows(const std::string& session_id) {
    return api.post("session_heartbeat",
                    wire::to_json(SessionHeartbeatRequest{.session_id = session_id}))
               .status
           == 200;
  }
};

} // namespace

TEST_CASE_METHOD(DamageFixture, "A foreign or later journal is refused", "[server][restart]") {
  CHECK(refusal("notes.txt", "mine").message.find("something else") != std::string::npos);
  CHECK(refusal("FORMAT", "a cookbook, format 1\n").message.find("does not say")
        != std::string::npos);
  CHECK(refusal("FORMAT", "journal of a tinkaf server, format 2\n").message.find("later version")
        != std::string::npos);
}

TEST_CASE_METHOD(DamageFixture, "A request that was cut off while it was written was not accepted",
                 "[server][restart]") {
  learn(1, 1);
  const auto before = std::filesystem::file_size(model_log());
  trainer->hold();
  (void)api.submit("forward_backward", pass(model, 3, 3));
  copy_state();
  std::filesystem::resize_file(copy / "journal" / session / "train-0.log", before + 30);
  start();
  CHECK(trainer->log().empty());
  learn(3, 5); // the number is free
  CHECK(learned(5, 0) == std::vector<Token>{1, 5});
}

TEST_CASE_METHOD(DamageFixture, "A damaged run says so, and other runs go on",
                 "[server][restart]") {
  const auto other = api.model(session, 1);
  const auto saved
      = api.submit("save_weights",
                   wire::to_json(SaveWeightsRequest{.model_id = model, .seq_id = 1, .path = "a"}));
  const auto path = api.result<SaveWeightsResponse>(RequestType::save_weights, saved).path;
  trainer->hold();
  const auto lost = api.submit("forward_backward", pass(model, 2, 2));
  const auto kept = api.submit("forward_backward", pass(other, 1, 1));
  copy_state();
  {
    std::fstream log{copy / "journal" / session / "train-0.log",
                     std::ios::in | std::ios::out | std::ios::binary};
    log.seekp(30); // in the first note
    log.put('!');
  }
  start();
  const auto run = wire::from_json<TrainingRun>(api.get("training_runs/" + model).body).value();
  CHECK(run.corrupted);
  CHECK(run.corrupted_reason.value().find("checksum at byte 0 of train-0.log")
        != std::string::npos);
  const auto answer = api.post("optim_step", step(model, 3));
  CHECK(answer.status == 404);
  CHECK(answer.body.find("go on from " + path) != std::string::npos);
  CHECK(api.failure(RequestType::forward_backward, lost).error.find(path) != std::string::npos);
  (void)api.result<ForwardBackwardOutput>(RequestType::forward_backward, kept);
  const auto fresh = api.submit(
      "load_weights",
      wire::to_json(LoadWeightsRequest{.session_id = session, .model_seq_id = 2, .path = path}));
  (void)api.result<LoadWeightsResponse>(RequestType::load_weights, fresh);
}

TEST_CASE_METHOD(DamageFixture, "A session that nobody takes up is ended and forgotten",
                 "[server][restart]") {
  learn(1, 1);
  passed = 71h;
  kill();
  CHECK(knows(session));
  passed = 73h;
  kill();
  CHECK_FALSE(knows(session));
  CHECK(api.post("optim_step", step(model, 3)).status == 404);
  passed = 24h * 30;
  kill();
  const auto there = [&] { return std::filesystem::exists(journal() / session); };
  for (int i = 0; i < 100'000 && there(); ++i)
    (void)api.http.call("GET", "/api/v1/healthz");
  CHECK_FALSE(there());
}

TEST_CASE_METHOD(DamageFixture, "Time without a server is no silence of a session",
                 "[server][restart]") {
  options.limits.session_expiry = 10min;
  passed = 2h;
  kill();
  CHECK(knows(session));
  learn(1, 1);
}

TEST_CASE_METHOD(DamageFixture, "The journal of a long run stays short", "[server][restart]") {
  options.limits.repeated_work = 0ms;
  options.limits.delivered_bytes = 1'000;
  restart();
  api = client();
  const auto size = [&] {
    std::uintmax_t out = 0;
    for (const auto& file : std::filesystem::recursive_directory_iterator{journal()})
      if (file.is_regular_file())
        out += file.file_size();
    return out;
  };
  const auto run = [&](std::int64_t first, std::int64_t last) {
    for (auto i = first; i < last; ++i)
      (void)api.result<ForwardBackwardOutput>(RequestType::forward_backward,
                                              api.submit("forward_backward", pass(model, i, 1)));
    wait_for_state(last);
  };
  run(1, 50);
  const auto before = size();
  run(51, 100);
  CHECK(size() - before
        < 50 * 700U); // a number, a digest, two ids and token counts for each request
}
