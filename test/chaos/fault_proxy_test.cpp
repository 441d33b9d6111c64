// SPDX-License-Identifier: Apache-2.0
#include "test/chaos/fault_proxy.hpp"

#include "test/catch.hpp"
#include "test/chaos/http_pipe.hpp"
#include "test/server/http_client.hpp"
#include "test/support/scripted_peer.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include <unistd.h>

using namespace tinkaf::test;
using namespace std::chrono_literals;

namespace {

/// All requests meet with one fault until the `last`.
FaultPlan always(FaultKind kind, std::uint64_t last = 1) {
  return {.seed = 3, .rate = 1.0, .kinds = {kind}, .last = last};
}

/// A client, a proxy and a server that answers "one", "two", "three".
struct Fixture {
  explicit Fixture(FaultPlan plan)
      : proxy{std::move(plan), [this](const Exchange& x) {
                const auto lock = std::lock_guard{mutex};
                seen.push_back(x);
              }} {
    for (const auto* text : {"one", "two", "three"})
      server.add({.body = text});
    proxy.set_server(server.port());
  }

  HttpAnswer call(std::string_view body = "{}") {
    return HttpClient{proxy.port()}.call("POST", "/x", body);
  }

  std::vector<Exchange> exchanges() {
    const auto lock = std::lock_guard{mutex};
    return seen;
  }

  ScriptedPeer server{{}};
  std::mutex mutex;
  std::vector<Exchange> seen;
  FaultProxy proxy;
};

} // namespace

TEST_CASE("A plan decides the same for the same seed and place", "[chaos]") {
  const auto plan = FaultPlan{.seed = 7, .rate = 0.5};
  auto other = plan;
  other.seed = 8;
  auto kinds = std::set<FaultKind>{};
  auto faults = 0;
  auto differences = 0;
  for (std::uint64_t request = 0; request < 1'000; ++request) {
    const auto fault = plan.at(request);
    CHECK(fault == plan.at(request));
    differences += fault == other.at(request) ? 0 : 1;
    faults += fault.kind == FaultKind::none ? 0 : 1;
    kinds.insert(fault.kind);
    CHECK(fault.time <= plan.longest);
  }
  CHECK(differences > 250);
  CHECK(faults > 400);
  CHECK(faults < 600);
  CHECK(kinds.size() == fault_kinds.size() + 1);
  CHECK(FaultPlan{.seed = 7, .rate = 1.0, .last = 5}.at(5).kind == FaultKind::none);
}

TEST_CASE("Without faults a proxy passes on requests and answers and tells of both", "[chaos]") {
  auto fixture = Fixture{{}};
  auto client = HttpClient{fixture.proxy.port()};
  CHECK(client.call("POST", "/x", "first").body == "one");
  CHECK(client.call("GET", "/y").body == "two"); // on the same connection
  const auto seen = fixture.server.requests();
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].body == "first");
  CHECK(seen[1].target == "/y");
  const auto exchanges = fixture.exchanges();
  REQUIRE(exchanges.size() == 2);
  CHECK(exchanges[0].target == "POST /x");
  CHECK(exchanges[0].body == "first");
  CHECK(exchanges[1].request == 1);
  CHECK(exchanges[1].status == 200);
  CHECK(exchanges[1].answer == "two");
  CHECK(fixture.proxy.requests() == 2);
  CHECK(fixture.proxy.faults().empty());
}

TEST_CASE("A refused request never arrives", "[chaos]") {
  auto fixture = Fixture{always(FaultKind::refuse)};
  CHECK(fixture.call().status == 0);
  CHECK(fixture.server.requests().empty());
  CHECK(fixture.call().body == "one");
  CHECK(fixture.proxy.faults() == std::map<FaultKind, std::uint64_t>{{FaultKind::refuse, 1}});
}

TEST_CASE("A request whose answer is lost has arrived", "[chaos]") {
  const auto kind = GENERATE(FaultKind::reset, FaultKind::truncate, FaultKind::garbage);
  auto fixture = Fixture{always(kind)};
  const int client = connect_to_loopback(fixture.proxy.port());
  REQUIRE(send_all(client, "POST /x HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"));
  const auto answer = MessageReader{client}.next();
  CHECK((!answer || answer->body != "one"));
  ::close(client);
  CHECK(fixture.server.requests().size() == 1);
  const auto exchanges = fixture.exchanges();
  REQUIRE(exchanges.size() == 1);
  CHECK(exchanges[0].answer == "one");
  CHECK(fixture.call().body == "two");
}

TEST_CASE("A dropped answer keeps the client waiting until it gives up", "[chaos]") {
  auto fixture = Fixture{always(FaultKind::drop)};
  {
    auto client = HttpClient{fixture.proxy.port()};
    client.send("POST", "/x", "{}");
    REQUIRE(fixture.server.wait_for_requests(1).size() == 1);
    CHECK(fixture.call().body == "two"); // others are not kept
  }
  auto dropped = HttpClient{fixture.proxy.port()}; // and nor is the end of the proxy
  dropped.send("POST", "/x", "{}");
  CHECK(dropped.receive().body == "three");
}

TEST_CASE("A duplicated request arrives twice and is answered once", "[chaos]") {
  auto fixture = Fixture{always(FaultKind::duplicate)};
  CHECK(fixture.call("same").body == "two");
  const auto seen = fixture.server.requests();
  REQUIRE(seen.size() == 2);
  CHECK(seen[0].body == "same");
  CHECK(seen[1].body == "same");
}

TEST_CASE("Late and slow answers arrive whole", "[chaos]") {
  const auto kind = GENERATE(FaultKind::delay, FaultKind::slow_body);
  auto fixture = Fixture{always(kind)};
  CHECK(fixture.call().body == "one");
}

TEST_CASE("A storm of 429 names a short wait, and no request arrives", "[chaos]") {
  auto fixture = Fixture{always(FaultKind::too_many)};
  const auto answer = fixture.call();
  CHECK(answer.status == 429);
  CHECK(answer.headers.count("retry-after-ms") == 1);
  CHECK(fixture.server.requests().empty());
}

TEST_CASE("A gateway without an answer has passed on every other request", "[chaos]") {
  auto fixture = Fixture{always(FaultKind::unavailable, 2)};
  CHECK(fixture.call().status >= 502);
  CHECK(fixture.server.requests().size() == 1);
  CHECK(fixture.call().status >= 502);
  CHECK(fixture.server.requests().size() == 1);
}

TEST_CASE("Without a server connections are reset, and a new server gets what comes then",
          "[chaos]") {
  auto fixture = Fixture{{}};
  fixture.proxy.set_server(0);
  CHECK(fixture.call().status == 0);
  fixture.proxy.set_server(closed_port());
  CHECK(fixture.call().status == 0);
  fixture.proxy.set_server(fixture.server.port());
  CHECK(fixture.call().body == "one");
}

TEST_CASE("A proxy ends although a client and a server are still waiting", "[chaos]") {
  auto server = ScriptedPeer{{{.kind = PeerReply::Kind::stall}}};
  auto proxy = std::make_unique<FaultProxy>(FaultPlan{});
  proxy->set_server(server.port());
  auto client = HttpClient{proxy->port()};
  client.send("POST", "/x", "{}");
  REQUIRE(server.wait_for_requests(1).size() == 1);
  proxy.reset();
  CHECK(client.is_closed());
  server.release();
}
