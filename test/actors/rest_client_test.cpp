// SPDX-License-Identifier: Apache-2.0
#include "actors/rest_client.hpp"

#include "api/wire/json_rest.hpp"
#include "test/actors/actor_fixture.hpp"
#include "test/actors/scripted_transport.hpp"

#include <deque>

using namespace std::chrono_literals;
using namespace tinkaf;

namespace {

const CheckpointRef checkpoint{"run", "weights/a"};
const char* const archive_path = "/api/v1/training_runs/run/checkpoints/weights/a/archive";

/// A REST client on a scripted network; requests beyond the script stay open.
struct Fixture : test::ActorFixture {
  std::deque<Result<HttpResponse>> replies;
  std::vector<Notice> notices;
  std::shared_ptr<test::ScriptedTransport> transport = std::make_shared<test::ScriptedTransport>(
      [this](const HttpRequest&) -> std::optional<Result<HttpResponse>> {
        if (replies.empty())
          return std::nullopt;
        auto next = std::move(replies.front());
        replies.pop_front();
        return next;
      });
  NoticeSink sink = [this](const Notice& x) { notices.push_back(x); };
  HttpActor http
      = spawn(http_actor, transport, HttpActorSettings{.credential = "tml-key", .notices = sink});
  RestClientActor client = make(true);

  RestClientActor make(bool opened) {
    return spawn(rest_client, RestClientSettings{.http = http,
                                                 .base_url = "https://host/x",
                                                 .retry = {.jitter = 0.0},
                                                 .notices = sink,
                                                 .opened = opened});
  }

  template <class T, class... Args>
  Result<T> answer(Args... args) {
    auto asked = ask<T>(client, std::move(args)...);
    run();
    REQUIRE(asked->has_value());
    return **asked;
  }
};

HttpResponse found(const std::string& location) {
  return {.status = 302, .headers = {{"location", location}}};
}

} // namespace

TEST_CASE_METHOD(Fixture, "A REST client without a session reads the settings and opens none",
                 "[actors][rest]") {
  client = make(false);
  SECTION("the key will do") {
    replies = {test::json(200, "{}")};
    CHECK(answer<Done>(atom::open_v).has_value());
    CHECK(transport->sent.size() == 1);
  }
  SECTION("the key is exchanged") {
    replies = {test::json(200, R"({"pjwt_auth_enabled":true})"),
               test::json(200, R"({"jwt":"eyJ.eyJzdWIiOiJ1cm46dXNlcjo0MiJ9.x"})")};
    CHECK(answer<Done>(atom::open_v).has_value());
    REQUIRE(transport->sent.size() == 2);
    CHECK(transport->sent[0].request.path == "/api/v1/client/config");
    CHECK(transport->sent[1].request.path == "/api/v1/auth/token");
    CHECK(answer<Done>(atom::open_v).has_value()); // once only
    CHECK(transport->sent.size() == 2);
    CHECK(answer<WhoamiResponse>(atom::whoami_v) == WhoamiResponse{"urn:user:42", {}});
    CHECK(transport->sent.size() == 2);
  }
  SECTION("the key is refused") {
    replies = {test::json(401, R"({"detail":"no"})")};
    CHECK(answer<Done>(atom::open_v).error().code == Errc::unauthenticated);
  }
}

TEST_CASE_METHOD(Fixture, "An API key does not say who it is for", "[actors][rest]") {
  auto who = answer<WhoamiResponse>(atom::whoami_v);
  REQUIRE_FALSE(who.has_value());
  CHECK(who.error().code == Errc::unauthenticated);
  CHECK(who.error().message.find("tml-key") == std::string::npos);
}

TEST_CASE_METHOD(Fixture, "Bad arguments send nothing", "[actors][rest]") {
  CHECK(answer<TrainingRun>(GetTrainingRun{""}).error().code == Errc::invalid_argument);
  CHECK(answer<Done>(SetCheckpointTtl{checkpoint, 0s}).error().code == Errc::invalid_argument);
  CHECK(answer<CheckpointArchiveUrlResponse>(GetCheckpointArchiveUrl{{"run", "a"}}).error().code
        == Errc::invalid_argument);
  CHECK(answer<std::string>(ExportSessionTrace{""}).error().code == Errc::invalid_argument);
  CHECK(transport->sent.empty());
}

TEST_CASE_METHOD(Fixture, "An answer that lacks a field names it and the call", "[actors][rest]") {
  replies = {test::json(200, R"({"sampler_id":"s"})")};
  auto sampler = answer<GetSamplerResponse>(GetSampler{"s"});
  REQUIRE_FALSE(sampler.has_value());
  CHECK(sampler.error().code == Errc::protocol_error);
  CHECK(sampler.error().message == "sampler answer: `base_model` is missing");
}

TEST_CASE_METHOD(Fixture, "Reads are repeated while the service is away", "[actors][rest]") {
  replies = {test::no_connection(true), test::json(503, "{}"),
             test::json(200, R"({"sessions":["s"]})")};
  auto sessions = ask<ListSessionsResponse>(client, ListSessions{});
  run();
  pass(500ms);
  pass(1s);
  REQUIRE(sessions->has_value());
  CHECK((*sessions)->value().sessions == std::vector<std::string>{"s"});
}

TEST_CASE_METHOD(Fixture, "A change needs no body in its answer", "[actors][rest]") {
  replies = {HttpResponse{.status = 204}};
  CHECK(answer<Done>(SetCheckpointTtl{checkpoint, 60s}).has_value());
}

TEST_CASE_METHOD(Fixture, "Publishing what is public fails at once", "[actors][rest]") {
  replies = {test::json(409, R"({"detail":"already public"})")};
  auto published = answer<Done>(PublishCheckpoint{checkpoint});
  REQUIRE_FALSE(published.has_value());
  CHECK(published.error().code == Errc::conflict);
  CHECK(published.error().attempts == 1);
  CHECK(published.error().message.find("already public") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "A repeat that finds its work done is a success", "[actors][rest]") {
  SECTION("published") {
    replies = {test::no_connection(true), test::json(409, "{}")};
    auto published = ask<Done>(client, PublishCheckpoint{checkpoint});
    run();
    pass(500ms);
    REQUIRE(published->has_value());
    CHECK((*published)->has_value());
  }
  SECTION("deleted") {
    replies = {test::no_connection(true), test::json(404, "{}")};
    auto deleted = ask<Done>(client, DeleteCheckpoint{checkpoint});
    run();
    pass(500ms);
    REQUIRE(deleted->has_value());
    CHECK((*deleted)->has_value());
  }
  SECTION("but not where the first try never got there") {
    replies = {test::no_connection(false), test::json(404, "{}")};
    auto deleted = ask<Done>(client, DeleteCheckpoint{checkpoint});
    run();
    pass(500ms);
    REQUIRE(deleted->has_value());
    CHECK((*deleted)->error().code == Errc::not_found);
  }
}

TEST_CASE_METHOD(Fixture, "An archive's URL is read from a redirect that is not followed",
                 "[actors][rest]") {
  replies = {found("https://store/a.tar?sig=1")};
  auto url = answer<CheckpointArchiveUrlResponse>(GetCheckpointArchiveUrl{checkpoint});
  REQUIRE(url.has_value());
  CHECK(url->url == "https://store/a.tar?sig=1");
  REQUIRE(transport->sent.size() == 1);
  CHECK(transport->sent[0].request.path == archive_path);
  CHECK_FALSE(transport->sent[0].request.follow_redirects);
}

TEST_CASE_METHOD(Fixture, "A redirect to nowhere is an error", "[actors][rest]") {
  replies = {HttpResponse{.status = 302}};
  auto url = answer<CheckpointArchiveUrlResponse>(GetCheckpointArchiveUrl{checkpoint});
  REQUIRE_FALSE(url.has_value());
  CHECK(url.error().message == "archive answer: HTTP 302 without a Location");
}

TEST_CASE_METHOD(Fixture, "An archive that is being built is asked for every 30 s",
                 "[actors][rest]") {
  for (int i = 0; i < 8; ++i)
    replies.push_back(test::json(503, R"({"detail":"building"})"));
  replies.push_back(found("https://store/a.tar"));
  auto url = ask<CheckpointArchiveUrlResponse>(client, GetCheckpointArchiveUrl{checkpoint});
  run();
  REQUIRE(notices.size() == 1);
  CHECK(notices[0].text.find("weights/a is being built") != std::string::npos);
  for (int i = 0; i < 5; ++i)
    pass(30s);
  CHECK(transport->sent.size() == 6);
  CHECK(notices.size() == 1); // quiet for three minutes
  pass(30s);
  CHECK(notices.size() == 2);
  pass(30s);
  CHECK_FALSE(url->has_value());
  pass(30s);
  REQUIRE(url->has_value());
  CHECK((*url)->value().url == "https://store/a.tar");
}

TEST_CASE_METHOD(Fixture, "An archive that is never ready is given up", "[actors][rest]") {
  for (int i = 0; i < 100; ++i)
    replies.push_back(test::json(503, "{}"));
  auto url = ask<CheckpointArchiveUrlResponse>(client, GetCheckpointArchiveUrl{checkpoint});
  run();
  for (int i = 0; i < 20; ++i) {
    CHECK_FALSE(url->has_value());
    pass(30s);
  }
  REQUIRE(url->has_value());
  CHECK((*url)->error().http_status == 503);
  CHECK(transport->sent.size() == 21);
}

TEST_CASE_METHOD(Fixture, "A trace is asked for every 5 s until it is ready", "[actors][rest]") {
  replies = {test::json(200, R"({"status":"pending"})"), test::json(200, R"({"status":"pending"})"),
             test::json(200, R"({"status":"ready","url":"https://store/t"})")};
  auto url = ask<std::string>(client, ExportSessionTrace{"s"});
  run();
  CHECK(transport->sent.size() == 1);
  pass(4'999ms);
  CHECK(transport->sent.size() == 1);
  pass(1ms);
  CHECK(transport->sent.size() == 2);
  CHECK_FALSE(url->has_value());
  pass(5s);
  CHECK(transport->sent.size() == 3);
  REQUIRE(url->has_value());
  CHECK((*url)->value() == "https://store/t");
}

TEST_CASE_METHOD(Fixture, "A trace that fails says why", "[actors][rest]") {
  replies = {test::json(200, R"({"status":"failed","error":"no events"})")};
  auto url = answer<std::string>(ExportSessionTrace{"s"});
  REQUIRE_FALSE(url.has_value());
  CHECK(url.error().code == Errc::request_failed);
  CHECK(url.error().message == "the trace of session s cannot be exported: no events");
}

TEST_CASE_METHOD(Fixture, "A trace is waited for no longer than asked", "[actors][rest]") {
  for (int i = 0; i < 100; ++i)
    replies.push_back(test::json(200, R"({"status":"pending"})"));
  auto url = ask<std::string>(client, ExportSessionTrace{"s", 12s});
  run();
  for (int i = 0; i < 20; ++i)
    pass(5s);
  REQUIRE(url->has_value());
  CHECK((*url)->error().code == Errc::timeout);
  CHECK(transport->sent.size() == 3);
}

TEST_CASE_METHOD(Fixture, "Whoever waits for an archive is told when the client ends",
                 "[actors][rest][shutdown]") {
  replies = {test::json(503, "{}")};
  auto url = ask<CheckpointArchiveUrlResponse>(client, GetCheckpointArchiveUrl{checkpoint});
  run();
  CHECK_FALSE(url->has_value());
  kill(caf::actor_cast<caf::actor>(client));
  REQUIRE(url->has_value());
  CHECK((*url)->error().code == Errc::cancelled);
}
