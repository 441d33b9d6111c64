// SPDX-License-Identifier: Apache-2.0
#include "api/wire/compression.hpp"
#include "test/api/http_fixture.hpp"

#include <atomic>
#include <optional>

using namespace std::chrono_literals;
using namespace tinkaf;
using test::PeerReply;
using test::Reply;

namespace {

const PeerReply stall{.kind = PeerReply::Kind::stall};

} // namespace

TEST_CASE("A request arrives as it was made, and its answer comes back", "[api][http]") {
  test::ScriptedPeer peer{{{.status = 418, .body = "short", .headers = {{"X-Odd", " yes "}}}}};
  auto client = test::make_client(peer.url() + "/base/", {.user_agent = "tinkaf/9"});
  auto request = test::post("/api/v1/a:b?x=1", R"({"n":1})");
  request.headers = {{"Content-Type", "application/json"}, {"X-Empty", ""}};
  request.secret_headers = {{"X-API-Key", "tml-hush"}};
  auto response = Reply{*client, request}.response();
  CHECK(response.status == 418);
  CHECK(response.body == "short");
  REQUIRE(response.header("x-odd") != nullptr);
  CHECK(*response.header("x-odd") == "yes");

  auto seen = peer.requests().at(0);
  CHECK(seen.method == "POST");
  CHECK(seen.target == "/base/api/v1/a:b?x=1");
  CHECK(seen.body == R"({"n":1})");
  CHECK(*seen.header("content-type") == "application/json");
  CHECK(*seen.header("x-api-key") == "tml-hush");
  CHECK(*seen.header("user-agent") == "tinkaf/9");
  REQUIRE(seen.header("accept-encoding") != nullptr);
  CHECK(seen.header("accept-encoding")->find("gzip") != std::string::npos);
  CHECK(seen.header("expect") == nullptr);
}

TEST_CASE("Methods and bodies go together as HTTP has it", "[api][http]") {
  test::ScriptedPeer peer{{{}, {}, {}, {}}};
  auto client = test::make_client(peer.url());
  Reply{*client, {.method = "GET", .path = "/"}}.response();
  Reply{*client, {.method = "POST", .path = "/"}}.response();
  Reply{*client, {.method = "DELETE", .path = "/"}}.response();
  auto put = test::post("/", "x");
  put.method = "PUT";
  Reply{*client, put}.response();
  auto seen = peer.requests();
  REQUIRE(seen.size() == 4);
  CHECK(seen[0].method == "GET");
  CHECK(seen[0].header("content-length") == nullptr);
  CHECK(seen[0].header("content-type") == nullptr);
  CHECK(seen[1].method == "POST");
  CHECK(*seen[1].header("content-length") == "0");
  CHECK(seen[1].header("content-type") == nullptr);
  CHECK(seen[2].method == "DELETE");
  CHECK(seen[3].method == "PUT");
  CHECK(seen[3].body == "x");
}

TEST_CASE("A connection serves one request after the other", "[api][http]") {
  test::ScriptedPeer peer{{{}, {.then_close = true}, {}}};
  auto client = test::make_client(peer.url());
  for (int i = 0; i < 3; ++i)
    CHECK(Reply{*client, test::post("/")}.response().status == 200);
  auto seen = peer.requests();
  CHECK(seen[1].connection == seen[0].connection);
  CHECK(seen[2].connection != seen[0].connection); // the peer had closed the first
}

TEST_CASE("Bodies in many pieces and packed bodies are put together", "[api][http]") {
  auto packed = *wire::gzip_compress(std::string(100'000, 'z'));
  test::ScriptedPeer peer{{PeerReply::raw("HTTP/1.1 100 Continue\r\nX-Interim: 1\r\n\r\n"
                                          "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                          "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"),
                           {.body = packed, .headers = {{"Content-Encoding", "gzip"}}}}};
  auto client = test::make_client(peer.url());
  auto chunked = Reply{*client, test::post("/")}.response();
  CHECK(chunked.body == "abcde");
  CHECK(chunked.header("x-interim") == nullptr);
  CHECK(Reply{*client, test::post("/")}.response().body == std::string(100'000, 'z'));
}

TEST_CASE("Requests wait for a connection without losing their time", "[api][http]") {
  test::ScriptedPeer peer{{stall, {}}};
  auto client = test::make_client(peer.url(), {.max_connections = 1});
  Reply first{*client, test::post("/first")};
  auto hurried = test::post("/second");
  hurried.timeout = 5s;
  Reply second{*client, hurried};
  CHECK(peer.wait_for_requests(1).size() == 1);
  peer.release();
  CHECK(first.response().status == 200);
  CHECK(second.response().status == 200);
  CHECK(peer.requests()[1].connection == 0);
}

TEST_CASE("A request that is given up is answered and its connection ended", "[api][http]") {
  test::ScriptedPeer peer{{stall, {}}};
  auto client = test::make_client(peer.url(), {.max_connections = 1});
  Reply under_way{*client, test::post("/a")};
  Reply queued{*client, test::post("/b")};
  REQUIRE(peer.wait_for_requests(1).size() == 1);
  client->abort(queued.id());
  auto unsent = queued.error();
  CHECK(unsent.code == Errc::cancelled);
  CHECK_FALSE(unsent.ambiguous);
  client->abort(under_way.id());
  auto sent = under_way.error();
  CHECK(sent.code == Errc::cancelled);
  CHECK(sent.ambiguous);
  client->abort(under_way.id()); // no more than nothing
  CHECK(Reply{*client, test::post("/c")}.response().status == 200);
}

TEST_CASE("The end of a client answers all of its requests, once each", "[api][http]") {
  test::ScriptedPeer peer{{stall, stall}};
  constexpr int count = 20;
  std::atomic<int> cancelled = 0;
  std::atomic<int> late = 0;
  auto client = test::make_client(peer.url(), {.max_connections = 2});
  auto* raw = client.get();
  for (int i = 0; i < count; ++i)
    client->submit(test::post("/"), [&, raw](const Result<HttpResponse>& result) {
      cancelled += !result && result.error().code == Errc::cancelled ? 1 : 0;
      // What a callback asks for at the last moment is answered too.
      raw->submit(test::post("/"), [&](const Result<HttpResponse>& last) {
        late += !last && last.error().code == Errc::cancelled ? 1 : 0;
      });
    });
  CHECK(peer.wait_for_requests(2).size() == 2);
  client.reset();
  CHECK(cancelled == count);
  CHECK(late == count);
}

TEST_CASE("A callback that throws takes no other request with it", "[api][http]") {
  test::ScriptedPeer peer{{{}, {}}};
  auto client = test::make_client(peer.url());
  client->submit(test::post("/"), [](const Result<HttpResponse>&) { throw 1; });
  CHECK(Reply{*client, test::post("/")}.response().status == 200);
}

TEST_CASE("Many threads may ask at once", "[api][http]") {
  constexpr std::size_t each = 25;
  test::ScriptedPeer peer{std::vector<PeerReply>(4 * each)};
  auto client = test::make_client(peer.url(), {.max_connections = 8});
  std::atomic<std::size_t> good = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (std::size_t i = 0; i < each; ++i) {
        std::promise<bool> done;
        client->submit(test::post("/"), [&done](const Result<HttpResponse>& result) {
          done.set_value(result.has_value() && result->status == 200);
        });
        good += done.get_future().get() ? 1 : 0;
      }
    });
  for (auto& thread : threads)
    thread.join();
  CHECK(good == 4 * each);
  CHECK(peer.connections() <= 8);
}

TEST_CASE("A client needs an address and readable authorities", "[api][http]") {
  CHECK(HttpClient::create({.base_url = "h"}).error().code == Errc::invalid_argument);
  CHECK(HttpClient::create({.base_url = "http://h", .max_connections = 0}).error().code
        == Errc::invalid_argument);
  auto missing = HttpClient::create({.base_url = "https://h", .ca_file = "/no/such/file.pem"});
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().code == Errc::io_error);
  CHECK(missing.error().message.find("/no/such/file.pem") != std::string::npos);
}
