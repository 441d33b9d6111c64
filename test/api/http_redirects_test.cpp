// SPDX-License-Identifier: Apache-2.0
#include "test/api/http_fixture.hpp"

using namespace tinkaf;
using test::PeerReply;
using test::Reply;

namespace {

PeerReply redirect(int status, std::string location) {
  return {.status = status, .body = "", .headers = {{"Location", std::move(location)}}};
}

HttpRequest with_key(HttpRequest request) {
  request.headers = {{"Content-Type", "application/json"}};
  request.secret_headers = {{"X-API-Key", "tml-hush"}};
  return request;
}

} // namespace

TEST_CASE("A redirect within the origin keeps the credential", "[api][http][redirect]") {
  test::ScriptedPeer peer{{redirect(307, "/there"), {.body = "arrived"}}};
  auto client = test::make_client(peer.url());
  CHECK(Reply{*client, with_key(test::post("/here", "data"))}.response().body == "arrived");
  auto second = peer.requests().at(1);
  CHECK(second.method == "POST");
  CHECK(second.target == "/there");
  CHECK(second.body == "data");
  REQUIRE(second.header("x-api-key") != nullptr);
  CHECK(*second.header("x-api-key") == "tml-hush");
}

TEST_CASE("A redirect to another origin never carries the credential", "[api][http][redirect]") {
  auto status = GENERATE(301, 302, 303, 307, 308);
  test::ScriptedPeer elsewhere{{{.body = "arrived"}}};
  test::ScriptedPeer peer{{redirect(status, elsewhere.url() + "/x")}};
  auto client = test::make_client(peer.url());
  CHECK(Reply{*client, with_key(test::post("/"))}.response().body == "arrived");
  CHECK(peer.requests().at(0).header("x-api-key") != nullptr);
  auto seen = elsewhere.requests().at(0);
  CHECK(seen.header("x-api-key") == nullptr);
  CHECK(seen.method == (status < 307 ? "GET" : "POST"));
  CHECK((seen.header("content-type") != nullptr) == (status >= 307));
}

TEST_CASE("A whole URL of another origin gets no credential either", "[api][http][redirect]") {
  test::ScriptedPeer elsewhere{{{}}};
  test::ScriptedPeer peer{{{}}};
  auto client = test::make_client(peer.url());
  Reply{*client, with_key({.method = "GET", .path = elsewhere.url() + "/file"})}.response();
  CHECK(elsewhere.requests().at(0).header("x-api-key") == nullptr);
  Reply{*client, with_key({.method = "GET", .path = peer.url() + "/file"})}.response();
  CHECK(peer.requests().at(0).header("x-api-key") != nullptr);
}

TEST_CASE("Redirects that are not to be followed are answers", "[api][http][redirect]") {
  test::ScriptedPeer peer{{redirect(302, "http://store.example.org/a")}};
  auto client = test::make_client(peer.url());
  auto request = with_key({.method = "GET", .path = "/archive"});
  request.follow_redirects = false;
  auto response = Reply{*client, request}.response();
  CHECK(response.status == 302);
  CHECK(*response.header("location") == "http://store.example.org/a");
}

TEST_CASE("Redirects end, and lead nowhere but to HTTP", "[api][http][redirect]") {
  test::ScriptedPeer peer{std::vector<PeerReply>(20, redirect(302, "/again"))};
  auto client = test::make_client(peer.url());
  auto endless = Reply{*client, test::post("/")}.error();
  CHECK(endless.code == Errc::protocol_error);
  CHECK(peer.requests().size() == 11);

  test::ScriptedPeer sly{{redirect(302, "file:///etc/passwd")}};
  auto other = test::make_client(sly.url());
  CHECK(Reply{*other, test::post("/")}.error().code == Errc::protocol_error);
}
