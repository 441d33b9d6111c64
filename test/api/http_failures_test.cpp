// SPDX-License-Identifier: Apache-2.0
#include "api/retry_policy.hpp"
#include "test/api/http_fixture.hpp"

#include <fmt/format.h>

using namespace std::chrono_literals;
using namespace tinkaf;
using test::PeerReply;
using test::Reply;

namespace {

/// What a request gets from a peer that plays `script`.
Error failure(std::vector<PeerReply> script, HttpClientOptions options = {},
              HttpRequest request = test::post("/")) {
  test::ScriptedPeer peer{std::move(script)};
  auto client = test::make_client(peer.url(), std::move(options));
  return Reply{*client, std::move(request)}.error();
}

} // namespace

TEST_CASE("Nobody listens: the request was certainly not taken", "[api][http]") {
  auto url = fmt::format("http://127.0.0.1:{}", test::closed_port());
  auto client = test::make_client(url);
  auto error = Reply{*client, test::post("/")}.error();
  CHECK(error.code == Errc::connection);
  CHECK_FALSE(error.ambiguous);
  CHECK(error.message.find(url) != std::string::npos);
}

TEST_CASE("A name that does not resolve is told apart", "[api][http]") {
  auto client = test::make_client("http://no-such-host.invalid");
  auto error = Reply{*client, test::post("/")}.error();
  CHECK(error.code == Errc::connection);
  CHECK_FALSE(error.ambiguous);
  CHECK(error.message.find("no-such-host.invalid") != std::string::npos);
}

TEST_CASE("A peer that takes the request and hangs up leaves us in doubt", "[api][http]") {
  auto error = failure({{.kind = PeerReply::Kind::close}});
  CHECK(error.code == Errc::connection);
  CHECK(error.ambiguous);
}

TEST_CASE("Half an answer is none", "[api][http]") {
  auto error = failure({{.body = std::string(1'000, 'x'), .kind = PeerReply::Kind::truncated}});
  CHECK(error.code == Errc::connection);
  CHECK(error.ambiguous);

  auto chunked = failure({PeerReply::raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                                         "5\r\nab")});
  CHECK(chunked.code == Errc::connection);
}

TEST_CASE("What is not HTTP is a protocol error", "[api][http]") {
  for (const auto* bytes : {"SSH-2.0-OpenSSH\r\n", "\x16\x03\x01 garbage garbage garbage"}) {
    auto error = failure({PeerReply::raw(bytes)});
    CHECK(error.code == Errc::protocol_error);
    CHECK(error.ambiguous);
    CHECK(is_worth_retrying(error, true));
    CHECK_FALSE(is_worth_retrying(error, false));
  }
  auto packed = failure({{.body = "not gzip at all", .headers = {{"Content-Encoding", "gzip"}}}});
  CHECK(packed.code == Errc::protocol_error);
}

TEST_CASE("Too large an answer is refused", "[api][http]") {
  auto error = failure({{.body = std::string(100'001, 'x')}}, {.max_response_bytes = 100'000});
  CHECK(error.code == Errc::protocol_error);
  CHECK(error.message.find("larger than 100000 bytes") != std::string::npos);
}

TEST_CASE("A peer that never answers runs into the time limit", "[api][http]") {
  auto request = test::post("/");
  request.timeout = 100ms;
  auto error = failure({{.kind = PeerReply::Kind::stall}}, {}, request);
  CHECK(error.code == Errc::timeout);
  CHECK(error.ambiguous);
  CHECK(error.message.find("no answer within 100 ms") != std::string::npos);
}

TEST_CASE("No TLS where it was expected: nothing was sent", "[api][http][tls]") {
  test::ScriptedPeer peer{{PeerReply::raw("HTTP/1.1 400 Bad Request\r\n\r\n")}};
  auto client = test::make_client(fmt::format("https://127.0.0.1:{}", peer.port()),
                                  {.connect_timeout = 300ms});
  auto request = test::post("/");
  request.secret_headers = {{"X-API-Key", "tml-hush"}};
  auto error = Reply{*client, request}.error();
  CHECK((error.code == Errc::connection || error.code == Errc::timeout));
  CHECK_FALSE(error.ambiguous);
  CHECK(peer.requests().empty());
}

TEST_CASE("Headers cannot smuggle others, and their values are not repeated", "[api][http]") {
  test::ScriptedPeer peer{{}};
  auto client = test::make_client(peer.url());
  auto request = test::post("/");
  request.secret_headers = {{"X-API-Key", "tml-hush\r\nX-Evil: 1"}};
  auto error = Reply{*client, request}.error();
  CHECK(error.code == Errc::invalid_argument);
  CHECK(error.message.find("hush") == std::string::npos);
  request.secret_headers = {{"X Key", "v"}};
  CHECK(Reply{*client, request}.error().code == Errc::invalid_argument);
  CHECK(peer.requests().empty());
}
