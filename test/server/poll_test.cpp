// SPDX-License-Identifier: Apache-2.0
#include "test/server/server_fixture.hpp"

#include <deque>
#include <thread>

using namespace std::chrono_literals;
using namespace tinkaf;
using namespace tinkaf::test;

TEST_CASE_METHOD(ServerFixture, "Polls wait for a result, and all get the same",
                 "[server][polls]") {
  auto api = client();
  const auto model = api.model(api.session());
  trainer->hold();
  const auto id = api.submit("forward_backward", pass(model, 1, 5));
  std::deque<ApiClient> pollers;
  for (int i = 0; i < 200; ++i) {
    pollers.push_back(client());
    pollers.back().http.send("POST", "/api/v1/retrieve_future", ApiClient::poll_body(id));
  }
  CHECK(api.http.call("GET", "/api/v1/healthz").body == R"({"status":"ok"})");
  trainer->release();
  const auto first = pollers.front().http.receive();
  CHECK(first.status == 200);
  CHECK(first.body.find("loss:sum") != std::string::npos);
  pollers.pop_front();
  for (auto& poller : pollers)
    CHECK(poller.http.receive().body == first.body);
}

TEST_CASE_METHOD(ServerFixture, "Large bodies that are being read delay nobody else",
                 "[server][polls]") {
  auto api = client();
  const auto session = api.session();
  const auto model = api.model(session);
  const auto large = [&](std::int64_t seq_id) {
    return wire::to_json(ForwardBackwardRequest{.model_id = model,
                                                .seq_id = seq_id,
                                                .data = BatchSlice::whole(
                                                    make_batch(std::vector<Datum>(500, datum(5))))})
        .value();
  };
  REQUIRE(large(1).size() > std::size_t{64} << 10);
  trainer->hold_checks(); // which come behind the parsing, on the same thread
  std::deque<ApiClient> senders;
  for (std::int64_t seq_id = 1; seq_id <= 6; ++seq_id) {
    senders.push_back(client());
    senders.back().http.send("POST", "/api/v1/forward_backward", large(seq_id),
                             {{"Content-Type", "application/json"}});
  }
  trainer->wait_for_held_checks(2);
  for (int i = 0; i < 10; ++i) {
    REQUIRE(api.post("session_heartbeat", wire::to_json(SessionHeartbeatRequest{session})).status
            == 200);
    REQUIRE(client().get("healthz").status == 200);
    REQUIRE(api.post("optim_step", step(model, 10 + i)).status == 200);
  }
  trainer->release();
  for (auto& sender : senders)
    CHECK(sender.http.receive().status == 200);
}

TEST_CASE_METHOD(ServerFixture, "A poll whose time is over is told to try again",
                 "[server][polls]") {
  options.limits.poll_hold = 0ms;
  restart();
  auto api = client();
  const auto model = api.model(api.session());
  trainer->hold();
  const auto id = api.submit("forward_backward", pass(model, 1, 5));
  const auto answer = api.post("retrieve_future", ApiClient::poll_body(id));
  CHECK(answer.status == 200);
  CHECK(answer.body.find("try_again") != std::string::npos);
  CHECK(answer.body.find(id) != std::string::npos);
  trainer->release();
  (void)api.result<ForwardBackwardOutput>(RequestType::forward_backward, id);
}

TEST_CASE_METHOD(ServerFixture, "Results come as the poll accepts them", "[server][polls]") {
  auto api = client();
  const auto model = api.model(api.session());
  const auto id = api.submit("forward_backward", pass(model, 1, 5));
  const auto json = api.result<ForwardBackwardOutput>(RequestType::forward_backward, id);
  const auto answer = api.http.call("POST", "/api/v1/retrieve_future", ApiClient::poll_body(id),
                                    {{"Accept", "application/x-protobuf"}});
  CHECK(answer.headers.at("content-type") == "application/x-protobuf");
  const auto binary = wire::read_future(RequestType::forward_backward,
                                        {.status = 200,
                                         .headers = {{"content-type", "application/x-protobuf"}},
                                         .body = answer.body});
  CHECK(std::get<ForwardBackwardOutput>(std::get<FutureValue>(binary.value())).metrics
        == json.metrics);
}

TEST_CASE_METHOD(ServerFixture, "A large result is announced where that is allowed",
                 "[server][polls]") {
  options.limits.announce_bytes = 10;
  restart();
  auto api = client();
  const auto model = api.model(api.session());
  const auto id = api.submit("optim_step", step(model, 1));
  (void)api.result<OptimStepResponse>(RequestType::optim_step, id);
  const auto answer = api.post("retrieve_future", ApiClient::poll_body(id, true));
  CHECK(answer.body.find("complete_metadata") != std::string::npos);
}

TEST_CASE_METHOD(ServerFixture, "An id that nobody gave out is unknown", "[server][polls]") {
  auto api = client();
  const auto answer = api.post("retrieve_future", ApiClient::poll_body("nothing"));
  CHECK(answer.status == 404);
  CHECK(answer.body.find("`nothing`") != std::string::npos);
}

TEST_CASE_METHOD(ServerFixture,
                 "A stop leaves what is computed to a later server and answers all polls",
                 "[server][polls]") {
  auto api = client();
  const auto model = api.model(api.session());
  trainer->hold();
  const auto running = api.submit("forward_backward", pass(model, 1, 1));
  const auto queued = api.submit("forward_backward", pass(model, 2, 2));
  const auto gapped = api.submit("forward_backward", pass(model, 9, 9));
  trainer->wait_for_begun(2);
  std::deque<ApiClient> pollers;
  for (const auto& id : {running, queued, gapped}) {
    pollers.push_back(client());
    pollers.back().http.send("POST", "/api/v1/retrieve_future", ApiClient::poll_body(id));
  }
  // Requests are handled in order of arrival by few threads, so these polls wait by now.
  for (int i = 0; i < 10; ++i)
    (void)client().http.call("GET", "/api/v1/healthz");
  server->stop();
  for (auto& poller : pollers) {
    const auto answer = poller.http.receive();
    CHECK(answer.status == 503);
    CHECK(answer.body.find("the server is stopping") != std::string::npos);
    CHECK(answer.body.find(R"("category":"server")") != std::string::npos);
  }
  server->stop();
}
