// SPDX-License-Identifier: Apache-2.0
#include "client/service.hpp"
#include "test/catch.hpp"
#include "test/support/scripted_peer.hpp"

#include <algorithm>

using namespace std::chrono_literals;
using namespace tinkaf;

TEST_CASE("Heartbeats go out while every connection for calls is taken",
          "[client][session][heartbeat]") {
  test::ScriptedPeer peer{{{.body = "{}"},
                           {.body = "{}"},
                           {.body = R"({"session_id":"session-1"})"},
                           {.kind = test::PeerReply::Kind::stall}}};
  for (int i = 0; i < 10'000; ++i)
    peer.add({.body = "{}"});
  ClientOptions options;
  options.base_url = peer.url();
  options.api_key = "tml-key";
  options.telemetry = false;
  options.max_connections = 1;
  options.heartbeat_interval = 200ms;
  auto service = Service::connect(options, {});
  REQUIRE(service.has_value());
  auto stuck = service->get_server_capabilities(); // long before the first heartbeat
  REQUIRE(peer.wait_for_requests(4)[3].target == "/api/v1/get_server_capabilities");
  auto queued = service->get_server_capabilities();
  auto requests = peer.wait_for_requests(7);
  REQUIRE(requests.size() >= 7);
  CHECK(std::all_of(requests.begin() + 4, requests.end(), [](const auto& request) {
    return request.target == "/api/v1/session_heartbeat";
  }));
  CHECK_FALSE(stuck.ready());
  CHECK_FALSE(queued.ready());
}
