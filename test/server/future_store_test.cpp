// SPDX-License-Identifier: Apache-2.0
#include "server/future_store.hpp"

#include "test/catch.hpp"
#include "test/train/temp_folder.hpp"

#include <memory>
#include <string>

using namespace std::chrono_literals;
using namespace tinkaf;
using namespace tinkaf::server;

namespace {

struct Fixture {
  explicit Fixture(ServerLimits limits = {}) : store(limits) {}

  /// What a poll is answered with, once it is.
  std::shared_ptr<std::optional<HttpReply>> poll(const std::string& id, bool metadata = false,
                                                 const std::string& accept = "application/json") {
    auto answer = std::make_shared<std::optional<HttpReply>>();
    store.poll(id, metadata, accept,
               Responder{[answer](HttpReply reply) { *answer = std::move(reply); }}, now);
    return answer;
  }

  void finish(const std::string& id) {
    store.finish(id, FutureValue{CreateModelResponse{"m"}}, now);
  }

  static ServerLimits small_results() {
    ServerLimits limits;
    limits.announce_bytes = 10;
    limits.delivered_bytes = 100;
    return limits;
  }

  FutureStore store;
  FutureStore::TimePoint now{1h};
};

struct SmallFixture : Fixture {
  SmallFixture() : Fixture(small_results()) {}
};

std::string text(const std::optional<HttpReply>& reply) {
  REQUIRE(reply.has_value());
  return *reply->body;
}

} // namespace

TEST_CASE_METHOD(Fixture, "A poll waits for its result", "[server][futures]") {
  const auto id = store.open();
  const auto first = poll(id);
  const auto second = poll(id);
  CHECK_FALSE(first->has_value());
  finish(id);
  CHECK(text(*first) == R"({"type":"create_model","model_id":"m"})");
  CHECK(text(*second) == text(*first));
  CHECK(text(*poll(id)) == text(*first)); // fetching does not consume
}

TEST_CASE_METHOD(Fixture, "A poll is told to try again when its time is over",
                 "[server][futures]") {
  const auto id = store.open();
  const auto answer = poll(id);
  now += 24s;
  store.tick(now);
  CHECK_FALSE(answer->has_value());
  now += 1s;
  store.tick(now);
  CHECK((*answer)->status == 200);
  CHECK(text(*answer).find(R"("type":"try_again")") != std::string::npos);
  CHECK(text(*answer).find(R"("queue_state":"active")") != std::string::npos);
  const auto next = poll(id);
  finish(id);
  CHECK(next->has_value());
}

TEST_CASE_METHOD(Fixture, "A failure is an answer with its category, every time",
                 "[server][futures]") {
  const auto id = store.open();
  store.finish(id, fail(Errc::invalid_argument, "no good"), now);
  finish(id); // too late
  for (int i = 0; i < 2; ++i) {
    const auto answer = poll(id);
    CHECK((*answer)->status == 200);
    CHECK(text(*answer) == R"({"category":"user","error":"no good"})");
  }
}

TEST_CASE_METHOD(SmallFixture, "A large result is announced with its size", "[server][futures]") {
  const auto id = store.open();
  finish(id);
  const auto size = text(*poll(id)).size();
  CHECK(text(*poll(id, true))
        == R"({"status":"complete_metadata","response_payload_size":)" + std::to_string(size)
               + "}");
}

TEST_CASE_METHOD(Fixture, "Results are binary where that is asked for", "[server][futures]") {
  const auto id = store.open();
  store.finish(id, FutureValue{SampleResponse{.sequences = {{.tokens = {1}}}}}, now);
  CHECK((*poll(id))->content_type == "application/json");
  CHECK((*poll(id, false, "application/x-protobuf"))->content_type == "application/x-protobuf");
}

TEST_CASE_METHOD(Fixture, "Results are kept for a while, their ids longer", "[server][futures]") {
  const auto fetched = store.open();
  const auto unfetched = store.open();
  finish(fetched);
  finish(unfetched);
  (void)poll(fetched);
  now += 1h;
  store.tick(now);
  CHECK((*poll(fetched))->status == 410);
  CHECK((*poll(unfetched))->status == 200); // late, but it was there for a day
  now += 24h;
  store.tick(now);
  CHECK((*poll(fetched))->status == 404);
  CHECK((*poll("no such id"))->status == 404);
}

TEST_CASE_METHOD(SmallFixture, "The oldest fetched results make room for others",
                 "[server][futures]") {
  std::vector<std::string> ids;
  for (int i = 0; i < 4; ++i) {
    ids.push_back(store.open());
    finish(ids.back());
  }
  for (const auto& id : ids)
    (void)poll(id); // 40 bytes each
  CHECK((*poll(ids[0]))->status == 410);
  CHECK((*poll(ids[1]))->status == 410);
  CHECK((*poll(ids[3]))->status == 200);
}

TEST_CASE_METHOD(Fixture, "Who asks a server that stops is told to ask again",
                 "[server][futures]") {
  const auto id = store.open();
  const auto answer = poll(id);
  store.close("stopping");
  CHECK((*answer)->status == 503);
  CHECK(text(*answer) == R"({"category":"server","detail":"stopping"})");
  CHECK((*poll(id))->status == 503);
}

TEST_CASE("A failure for which there is no room is told once it is written, a result at once",
          "[server][futures]") {
  const auto folder = test::TempFolder{};
  auto full = true;
  const auto log = std::make_shared<RecordLog>(folder.path() / "log", [&] { return full; });
  auto store = FutureStore{ServerLimits{.poll_hold = 1s}};
  auto now = FutureStore::TimePoint{1h};
  const auto poll = [&](const std::string& id) {
    auto answer = std::make_shared<std::optional<HttpReply>>();
    store.poll(id, false, "application/json",
               Responder{[answer](HttpReply reply) { *answer = std::move(reply); }}, now);
    return answer;
  };
  const auto result = store.open(RequestType::create_model, log);
  store.finish(result, FutureValue{CreateModelResponse{"m"}}, now);
  CHECK(text(*poll(result)).find("\"model_id\":\"m\"") != std::string::npos);

  const auto id = store.open(RequestType::save_weights, log);
  store.finish(id, fail(Errc::io_error, "no room"), now);
  CHECK(store.state(id) == FutureStore::State::pending);
  const auto early = poll(id);
  store.tick(now += 2s);
  CHECK(text(*early).find("try_again") != std::string::npos);
  CHECK(text(*early).find("what came of it cannot be written down: ") != std::string::npos);
  CHECK(text(*early).find("No space left on device") != std::string::npos);
  const auto late = poll(id);
  full = false;
  store.tick(now += 500ms);
  CHECK(text(*late).find("\"error\":\"no room\"") != std::string::npos);
  CHECK(std::filesystem::file_size(folder.path() / "log") > 0);
  store.tick(now += 2s); // once is enough
  CHECK(store.state(id) == FutureStore::State::kept);
}
