// SPDX-License-Identifier: Apache-2.0
#include "test/server/restart_fixture.hpp"

using namespace tinkaf;
using namespace tinkaf::test;

namespace {

struct FaultFixture : RestartFixture {
  /// Starts a server that plays faults, on a folder of its own.
  void play(const ServerFaults& faults) {
    options.test_mode = true;
    options.faults = faults;
    options.state_dir = folder.path() / "faults";
    restart();
    api = client();
  }

  void begin() {
    session = api.session();
    model = api.model(session);
  }
};

} // namespace

TEST_CASE_METHOD(FaultFixture, "Faults are refused without test mode", "[server][test_mode]") {
  options.faults.failed_operations = {1};
  options.state_dir = folder.path() / "other";
  const auto started = Server::start(options, {trainer});
  REQUIRE_FALSE(started.has_value());
  CHECK(started.error().message.find("test_mode") != std::string::npos);
}

TEST_CASE_METHOD(FaultFixture, "An operation that is to fail does, and not again after a restart",
                 "[server][test_mode]") {
  play({.failed_operations = {2, 3}});
  begin();
  (void)api.result<ForwardBackwardOutput>(RequestType::forward_backward,
                                          api.submit("forward_backward", pass(model, 1, 1)));
  const auto pass_id = api.submit("forward_backward", pass(model, 2, 2));
  const auto step_id = api.submit("optim_step", step(model, 3));
  const auto failure = api.failure(RequestType::forward_backward, pass_id);
  CHECK(failure.category == ErrorCategory::server);
  CHECK(failure.error.find("test mode") != std::string::npos);
  (void)api.failure(RequestType::optim_step, step_id);
  options.faults = {};
  kill();
  (void)api.failure(RequestType::optim_step, step_id);
  learn(4, 4); // the gradient of before was dropped with the step
  CHECK(learned(6, 0) == std::vector<Token>{4});
}

TEST_CASE_METHOD(FaultFixture, "An answer can be dropped, and the request has arrived",
                 "[server][test_mode]") {
  play({.dropped_replies = {5}});
  begin(); // session, model, and polls: at most four answers
  while (api.http.call("GET", "/api/v1/healthz").status == 200) {
  }
  api = client();
  CHECK(api.http.call("GET", "/api/v1/healthz").status == 200);
}

TEST_CASE_METHOD(FaultFixture, "An answer can be late", "[server][test_mode]") {
  play({.delayed_replies = {1}, .reply_delay = std::chrono::milliseconds{1}});
  begin();
  CHECK_FALSE(model.empty());
}

TEST_CASE_METHOD(FaultFixture, "The making of a model can wait", "[server][test_mode]") {
  play({.model_wait = std::chrono::milliseconds{1}});
  begin();
  learn(1, 1);
  CHECK(learned(3, 0) == std::vector<Token>{1});
}

TEST_CASE_METHOD(FaultFixture, "What a full disk does not take is not accepted",
                 "[server][test_mode]") {
  // Writes: the session, the model, that it is made, and that this was told.
  play({.disk_full_from = 5, .disk_full_writes = 2});
  begin();
  const auto refused = api.post("forward_backward", pass(model, 1, 1));
  CHECK(refused.status == 503);
  CHECK(refused.body.find("not accepted") != std::string::npos);
  CHECK(refused.body.find("No space left on device") != std::string::npos);
  CHECK(api.post("create_session", wire::to_json(CreateSessionRequest{})).status == 503);
  learn(1, 1); // its number is free still
  options.faults = {};
  kill();
  CHECK(learned(3, 0) == std::vector<Token>{1});
}
